// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// agentFile is the agent on an emulated node: the other one is for Windows.
const agentFile = "csi-proxy-emulated"

// agentOf returns an agent on a node of its own.
func agentOf(file, name, dir string) program {
	state := filepath.Join(dir, name)
	return program{name: name, command: []string{file, "-state-dir=" + state}, sockets: filepath.Join(state, "run")}
}

// makePlugins makes nothing: whether a directory of an emulated node exists makes no difference here.
func makePlugins() (undo func(), err error) { return func() {}, nil }

// echoAddress returns a socket in a directory.
func echoAddress(dir string) string { return filepath.Join(dir, "echo.sock") }

// listen takes the place of an earlier echo, which was killed and left its socket.
func listen(address string) (net.Listener, error) {
	_ = os.Remove(address) // without it, Listen fails
	return net.Listen("unix", address)
}

func system() string { return runtime.GOOS }

func takesConnections(address string) bool {
	conn, err := net.Dial("unix", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// onlyServer returns nil: an agent's sockets are in a directory of its own.
func onlyServer(context.Context, int) error { return nil }

// memoryOf returns a process's resident memory in MiB.
// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
func memoryOf(pid int) (mib float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int
	_, err = fmt.Sscan(string(text), &size, &resident)
	return float64(resident*os.Getpagesize()) / (1 << 20), err
}
