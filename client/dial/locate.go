// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// SocketDirVariable names the environment variable of the directory of the agent's unix sockets, off Windows.
const SocketDirVariable = "CSI_PROXY_SOCKET_DIR"

// An endpoint is a place to dial.
type endpoint struct {
	// name is the endpoint's name for people: the pipe's plain Windows name, or the given path of a socket.
	name string
	// address is what the operating system opens.
	address string
}

// locatePipe finds the endpoint of target on Windows: the plain spelling of a local pipe, or target itself.
func locatePipe(target string) (endpoint, error) {
	if target == "" {
		return endpoint{}, errors.New("locate agent: the pipe path is empty")
	}
	name, ok := pipeName(target)
	if !ok {
		return endpoint{name: target, address: target}, nil
	}
	return endpoint{name: plainPipe(name), address: plainPipe(name)}, nil
}

// locateSocket finds the endpoint of target on systems without named pipes. A pipe stands for a socket in socketDir or,
// if that is empty, in the directory that SocketDirVariable names; an absolute path stands for itself.
func locateSocket(target, socketDir string) (endpoint, error) {
	name, ok := pipeName(target)
	switch {
	case ok && strings.ContainsAny(name, "/\\\x00"):
		return endpoint{}, fmt.Errorf("locate agent at %s: a pipe name that stands for a unix socket must not contain "+
			"separators", target)
	case ok:
		if socketDir == "" {
			socketDir = os.Getenv(SocketDirVariable)
		}
		if socketDir == "" {
			return endpoint{}, fmt.Errorf(
				"locate agent at %s: this system has no named pipes; set %s to the directory that holds the agent's sockets",
				plainPipe(name), SocketDirVariable)
		}
		return endpoint{name: plainPipe(name), address: filepath.Join(socketDir, name+".sock")}, nil
	case path.IsAbs(target):
		return endpoint{name: target, address: target}, nil
	}
	return endpoint{}, fmt.Errorf(
		`locate agent: %q is neither a named pipe (\\.\pipe\NAME) nor the absolute path of a unix socket`, target)
}

// plainPipe spells a local pipe the way Windows documents it.
func plainPipe(name string) string {
	return `\\.\pipe\` + name
}

// pipeName returns NAME from a spelling of \\.\pipe\NAME; false: target is none. Windows reads slashes as backslashes
// there, folds repeated ones, and ignores the case of pipe; people and configuration files use all three.
// https://learn.microsoft.com/windows/win32/ipc/pipe-names
func pipeName(target string) (string, bool) {
	rest, separators := trimSeparators(target)
	if separators < 2 {
		return "", false
	}
	for _, want := range []string{".", "pipe"} {
		if len(rest) < len(want) || !strings.EqualFold(rest[:len(want)], want) {
			return "", false
		}
		if rest, separators = trimSeparators(rest[len(want):]); separators == 0 {
			return "", false
		}
	}
	return rest, rest != ""
}

// trimSeparators removes the separators at the start of s and counts them.
func trimSeparators(s string) (rest string, count int) {
	rest = strings.TrimLeft(s, `\/`)
	return rest, len(s) - len(rest)
}
