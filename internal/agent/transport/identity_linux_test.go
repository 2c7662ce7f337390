// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// clientSocket makes a copy of this program connect to a socket, hand the connection to the process that started it as
// its standard output, and end.
const clientSocket = "TRANSPORT_CLIENT_SOCKET"

func TestMain(m *testing.M) {
	if path := os.Getenv(clientSocket); path != "" {
		c, err := net.Dial("unix", path)
		if err == nil {
			err = handOver(c.(*net.UnixConn))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestCgroups(t *testing.T) {
	for text, want := range map[string]string{
		"0::/kubepods/burstable/pod1/abc\n":        "/kubepods/burstable/pod1/abc",
		"0::/\n":                                   "/",
		"12:memory:/a\n1:name=systemd:/b\n0::/\n":  "/b",
		"0::/c\n12:memory:/a\n1:name=systemd:/b\n": "/c",
		"12:memory:/a\n0::/c\n1:name=systemd:/b\n": "/c",
		"0::/../other\n":                           "/../other",
		"0::/gone (deleted)\n":                     "",
		"0::/a:b\n":                                "/a:b",
		"":                                         "",
		"12:memory:/a\n":                           "",
		"0::relative\n":                            "",
		"nonsense\n":                               "",
	} {
		if got := cgroupOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// listen opens a socket of which no connection is accepted yet.
func listen(t *testing.T) (net.Listener, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	openPipes, err := OpenSocketDir(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = openPipes.Close() })
	l, err := openPipes.Listen("a", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, openPipes.Path("a")
}

func accepted(t *testing.T, l net.Listener) Peer {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return PeerOf(c)
}

func TestIdentity(t *testing.T) {
	l, path := listen(t)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	if got := accepted(t, l); got.Container == "" || got.Container != cgroupOf(string(text)) || *got.UID != os.Getuid() {
		t.Errorf("got %+v, want the group of %s", got, text)
	}
}

// A process connects, hands its connection over and ends; then another one gets its number, before the agent accepts.
// The connection has no identity.
func TestAReusedNumberHasNoIdentity(t *testing.T) {
	l, path := listen(t)
	opener, connection := runClient(t, path)
	defer connection.Close()
	heir := reuse(t, opener)
	got := accepted(t, l)
	if int(got.PID) != opener {
		t.Fatalf("process %d has opened the connection, not %d", got.PID, opener)
	}
	if got.Identity != (Identity{}) {
		t.Errorf("the connection of a process that has ended has the identity %+v (a process with its number: %t)",
			got.Identity, heir)
	}
}

// reuse starts a process with a number that was another's, and reports whether it succeeded: that needs root, and luck.
func reuse(t *testing.T, number int) bool {
	t.Helper()
	for range 20 {
		if os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(number-1)), 0) != nil {
			return false
		}
		ctx, cancel := context.WithCancel(context.Background())
		c := exec.CommandContext(ctx, "sleep", "1000")
		if err := c.Start(); err != nil {
			cancel()
			t.Fatal(err)
		}
		t.Cleanup(func() { cancel(); _ = c.Wait() })
		if c.Process.Pid == number {
			return true
		}
	}
	return false
}

// handOver sends a connection over the socket that is this process's standard input.
func handOver(c *net.UnixConn) error {
	file, err := c.File()
	if err != nil {
		return err
	}
	return unix.Sendmsg(0, []byte{0}, unix.UnixRights(int(file.Fd())), nil, 0)
}

// runClient starts a client, and returns its number and its connection when it has ended.
func runClient(t *testing.T, path string) (pid int, connection *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "pair")
	defer func() { _ = theirs.Close(); _ = unix.Close(pair[0]) }()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	c.Env, c.Stdin, c.Stderr = append(os.Environ(), clientSocket+"="+path), theirs, os.Stderr
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), rights, 0)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		t.Fatal(messages, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatal(fds, err)
	}
	return c.Process.Pid, os.NewFile(uintptr(fds[0]), "connection")
}
