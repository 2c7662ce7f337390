// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// pathVariable is set for a copy of this program that connects to a path.
const pathVariable = "TRANSPORT_TEST_PATH"

// connect opens a path and keeps it open until standard input ends.
func connect(path string) error {
	var conn io.Closer
	var err error
	if runtime.GOOS == "windows" {
		conn, err = os.OpenFile(path, os.O_RDWR, 0)
	} else {
		conn, err = net.Dial("unix", path)
	}
	if err != nil {
		return err
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return conn.Close()
}

// A process is held from the moment when its connection was accepted, and seen to end.
func TestAProcessThatEnds(t *testing.T) {
	if path := os.Getenv(pathVariable); path != "" {
		if err := connect(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the system does not name the process")
	}
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	openPipes, err := transport.Open(transport.Options{SocketDir: dir, OwnUser: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = openPipes.Close() }()
	name := fmt.Sprintf("csi-proxy-process-%d", os.Getpid())
	l, err := openPipes.Listen(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()

	end := start(t, openPipes.Path(name))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	process := transport.ProcessOf(conn)
	if process == nil || process.Ended() {
		t.Fatalf("the process is held by %v, or has ended while it runs", process)
	}
	end()
	for deadline := time.Now().Add(time.Minute); !process.Ended(); {
		if time.Now().After(deadline) {
			t.Fatal("the process is not seen to have ended")
		}
	}
	if err := process.Close(); err != nil {
		t.Error(err)
	}

	if runtime.GOOS == "windows" {
		return // a pipe whose client is gone is not accepted for sure
	}
	start(t, openPipes.Path(name))()
	late, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Close() }()
	if process := transport.ProcessOf(late); process == nil || !process.Ended() || process.Close() != nil {
		t.Errorf("a process that ended before its connection was accepted is held by %v", process)
	}
}

// start starts a process that is connected when start returns, and ends in end.
func start(t *testing.T, path string) (end func()) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run=^TestAProcessThatEnds$")
	c.Env = append(os.Environ(), pathVariable+"="+path)
	c.Stderr = os.Stderr
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the process says %q, %v", line, err)
	}
	return func() {
		_ = input.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
}
