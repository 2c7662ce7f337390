// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// handVariable is set for a copy of this program that opens a pipe, hands it to its parent and ends.
const handVariable = "TRANSPORT_TEST_HAND"

// hand prints its parent's handle of the pipe.
func hand(path string) error {
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	parent, err := windows.OpenProcess(windows.PROCESS_DUP_HANDLE, false, uint32(os.Getppid()))
	if err != nil {
		return err
	}
	var theirs windows.Handle
	err = windows.DuplicateHandle(windows.CurrentProcess(), windows.Handle(pipe.Fd()), parent, &theirs, 0, false,
		windows.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return err
	}
	fmt.Println("handed over", uintptr(theirs))
	return nil
}

// A connection that was handed over lives on, and its process is the one that opened it and has ended.
func TestPipeHandover(t *testing.T) {
	if path := os.Getenv(handVariable); path != "" {
		if err := hand(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	_, l := open(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-test.run=^TestPipeHandover$")
	c.Env = append(os.Environ(), handVariable+"="+l.path)
	c.Stderr = os.Stderr
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept() // while the other process runs, or after
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	line, err := bufio.NewReader(output).ReadString('\n')
	number, found := strings.CutPrefix(strings.TrimSpace(line), "handed over ")
	handle, errNumber := strconv.ParseUint(number, 10, 64)
	if err != nil || !found || errNumber != nil {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	process := ProcessOf(server)
	for deadline := time.Now().Add(time.Minute); process == nil || !process.Ended(); {
		if time.Now().After(deadline) {
			t.Fatalf("the process that opened the pipe has ended, but is held by %v", process)
		}
	}
	if got := PeerOf(server).PID; got != uint32(c.Process.Pid) {
		t.Errorf("the pipe was opened by process %d, want %d", got, c.Process.Pid)
	}
	client := os.NewFile(uintptr(handle), "client")
	go func() { _, _ = io.WriteString(server, "hello"); _ = server.Close() }()
	if got, _ := io.ReadAll(client); string(got) != "hello" {
		t.Errorf("over the connection comes %q, want hello", got)
	}
	_ = client.Close()
}
