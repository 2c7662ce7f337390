// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// mustSay checks that an error's text has all of the parts.
func mustSay(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got the error %q, want %q in it", err, part)
		}
	}
}

func openDir(t *testing.T, path string) *transport.SocketDir {
	t.Helper()
	d, err := transport.OpenSocketDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestSocketDirModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "run")
	d := openDir(t, dir)
	l, err := d.Listen("a", false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, d.Path("a"): os.ModeSocket | 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s: got mode %v, want %v", path, info.Mode(), want)
		}
	}
}

func TestSocketDirIsClosedToOthersWhenItIsOurs(t *testing.T) {
	ours, shared := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(shared, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]os.FileMode{ours: 0o700, shared: 0o755} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		openDir(t, dir)
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: got mode %v, want %v", dir, info.Mode().Perm(), want)
		}
	}
}

func TestSocketDirThatOthersMayWriteTo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	_, err := transport.OpenSocketDir(dir)
	mustSay(t, err, dir, "others could replace the sockets")
}

// In a directory that everyone may write to, another user could move the socket directory away and serve its own.
func TestSocketDirInADirectoryOfEveryone(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	open, itself := filepath.Join(dir, "open"), link+" to the directory"
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(open, link),
		os.Mkdir(filepath.Join(open, "own"), 0o700), os.Symlink(filepath.Join(open, "own"), itself),
		os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(open, "run"), filepath.Join(open, "a", "run"), filepath.Join(link, "run")} {
		_, err := transport.OpenSocketDir(path)
		mustSay(t, err, path, "everyone may replace what is in ")
	}
	_, err := transport.OpenSocketDir(itself)
	mustSay(t, err, filepath.Join(open, "own"), "everyone may replace what is in ")
	if err := os.Chmod(open, 0o777|os.ModeSticky); err != nil { // as /tmp
		t.Fatal(err)
	}
	openDir(t, filepath.Join(open, "run"))
	if err := errors.Join(os.Chmod(open, 0o777), os.Chmod(filepath.Dir(dir), 0o700), os.Chmod(dir, 0o700)); err != nil { // only we get there
		t.Fatal(err)
	}
	openDir(t, filepath.Join(open, "a", "run"))
}

func TestSocketDirOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 65534, -1); err != nil {
		t.Fatal(err)
	}
	_, err := transport.OpenSocketDir(dir)
	mustSay(t, err, dir, "can be changed by user 65534")
}

func TestSocketDirWithALinkForItsLock(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, "csi-proxy.lock")); err != nil {
		t.Fatal(err)
	}
	_, err := transport.OpenSocketDir(dir)
	mustSay(t, err, dir, "is a symbolic link")
	if content, err := os.ReadFile(target); err != nil || string(content) != "precious" {
		t.Errorf("the link's target has %q, %v", content, err)
	}
}

func TestSocketDirHasOneAgent(t *testing.T) {
	dir := t.TempDir()
	first := openDir(t, dir)
	_, err := transport.OpenSocketDir(dir)
	mustSay(t, err, dir, fmt.Sprintf("process %d", os.Getpid()))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openDir(t, dir)
}

func TestListenReplacesStaleSocket(t *testing.T) {
	d := openDir(t, t.TempDir())
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.Path("a"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	killed.SetUnlinkOnClose(false)
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := d.Listen("a", false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("unix", d.Path("a"))
	if err != nil {
		t.Fatalf("the new socket does not accept: %v", err)
	}
	_ = c.Close()
}

func TestListenNeverStealsLiveSocket(t *testing.T) {
	d := openDir(t, t.TempDir())
	live, err := net.Listen("unix", d.Path("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = live.Close() }()
	_, err = d.Listen("a", false)
	mustSay(t, err, d.Path("a"), "another process serves")
	c, err := net.Dial("unix", d.Path("a"))
	if err != nil {
		t.Fatalf("the live socket is gone: %v", err)
	}
	_ = c.Close()
}

func TestListenLeavesOtherFilesAlone(t *testing.T) {
	d := openDir(t, t.TempDir())
	if err := os.WriteFile(d.Path("a"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := d.Listen("a", false)
	mustSay(t, err, d.Path("a"), "not a socket")
	if text, err := os.ReadFile(d.Path("a")); err != nil || string(text) != "precious" {
		t.Errorf("the file changed: %q, %v", text, err)
	}
}

// A client sees that a server which stops has closed its connection, and the server when the client has closed it, too.
func TestCloseIsSeenByBothEnds(t *testing.T) {
	d := openDir(t, t.TempDir())
	l, err := d.Listen("a", false)
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("unix", d.Path("a"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []io.Closer{l, server} {
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.ReadAll(client); err != nil {
		t.Errorf("the client: %v", err)
	}
	_, _ = io.WriteString(client, "bye")
	_ = client.Close()
	if got, err := io.ReadAll(server); err != nil || string(got) != "bye" {
		t.Errorf("the server: got %q, %v, want the client's last word and its end", got, err)
	}
}

func TestListenOnTooLongPath(t *testing.T) {
	d := openDir(t, filepath.Join(t.TempDir(), strings.Repeat("x", 100)))
	_, err := d.Listen("a", false)
	mustSay(t, err, d.Path("a"), "shorter -socket-dir")
}
