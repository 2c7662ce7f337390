// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// clientPipe makes a copy of this program open a pipe when it is told to, and keep it open until its standard input
// ends.
const clientPipe = "TRANSPORT_CLIENT_PIPE"

func TestMain(m *testing.M) {
	if path := os.Getenv(clientPipe); path != "" {
		in := bufio.NewReader(os.Stdin)
		_, _ = in.ReadString('\n')
		c, err := winio.DialPipeContext(context.Background(), path)
		if err != nil {
			os.Exit(1)
		}
		_, _ = io.Copy(io.Discard, in)
		_ = c.Close()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// accept returns the agent's end of a client's connection.
func accept(t *testing.T, l *pipeListener) *Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*Conn) //nolint:forcetypeassert // it accepts no other
}

// asDriver opens a pipe as drivers do, with go-winio.
func asDriver(t *testing.T, l *pipeListener) net.Conn {
	t.Helper()
	c, err := winio.DialPipeContext(t.Context(), l.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestIdentity(t *testing.T) {
	_, l := open(t)
	asDriver(t, l)
	got := accept(t, l).Peer
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := Identity{SID: user.User.Sid.String(), Elevated: windows.GetCurrentProcessToken().IsElevated(),
		Container: NoContainer}
	if got.Identity != want || !strings.EqualFold(got.Image, program) {
		t.Errorf("got %+v and %s, want %+v and %s", got.Identity, got.Image, want, program)
	}
}

// child starts a client as a process of its own, which has not opened the pipe yet.
func child(t *testing.T, l *pipeListener) (_ *exec.Cmd, tell io.WriteCloser) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program)
	c.Env = append(os.Environ(), clientPipe+"="+l.path)
	tell, err = c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tell.Close(); _ = c.Wait() })
	return c, tell
}

// The Host Compute Service puts a container's processes into a job of the first name.
func TestJobs(t *testing.T) {
	for job, want := range map[string]string{`\Container_0123`: "0123", `\Other_4567`: NoContainer,
		`\BaseNamedObjects\Container_89ab`: NoContainer} {
		t.Run(want, func(t *testing.T) { inJob(t, job, want) })
	}
}

// inJob checks the container of a client that runs in a job.
func inJob(t *testing.T, job, want string) {
	t.Helper()
	_, l := open(t)
	process, tell := child(t, l)
	name, err := windows.NewNTUnicodeString(job)
	if err != nil {
		t.Fatal(err)
	}
	attributes := &windows.OBJECT_ATTRIBUTES{Length: uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})), ObjectName: name}
	var h windows.Handle
	const jobObjectAllAccess = 0x1F001F
	if status, _, _ := modntdll.NewProc("NtCreateJobObject").Call(uintptr(unsafe.Pointer(&h)), jobObjectAllAccess,
		uintptr(unsafe.Pointer(attributes))); status != 0 {
		t.Skipf("require the right to make %s: %v", job, windows.NTStatus(status))
	}
	defer func() { _ = windows.CloseHandle(h) }()
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(p) }()
	if err := windows.AssignProcessToJobObject(h, p); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(tell, "\n"); err != nil {
		t.Fatal(err)
	}
	if got := accept(t, l).Peer; got.Container != want || int(got.PID) != process.Process.Pid {
		t.Errorf("%s: got the container %q of process %d, want %q of %d", job, got.Container, got.PID,
			want, process.Process.Pid)
	}
}

// A process that has ended, one that began too late to have opened the pipe, and one that has closed it, have no
// identity.
func TestNoIdentity(t *testing.T) {
	_, l := open(t)
	client := asDriver(t, l)
	pipe := windows.Handle(accept(t, l).Conn.(pipeConn).Fd()) //nolint:forcetypeassert // it is of no other type

	process, tell := child(t, l)
	handle, err := openProcess(uint32(process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	if !handle.wasThere(now()) {
		t.Error("a running process was not there")
	}
	var created, exited, inKernel, inUser windows.Filetime
	if err := windows.GetProcessTimes(windows.Handle(handle), &created, &exited, &inKernel, &inUser); err != nil {
		t.Fatal(err)
	}
	const unit = 100 // nanoseconds
	if !handle.wasThere(created) {
		t.Error("a process that connected within the tick of its creation is not taken for its client")
	}
	if handle.wasThere(windows.NsecToFiletime(created.Nanoseconds() - unit)) {
		t.Error("a process that began after the connection is taken for its client")
	}
	// As long as the handle is open, the number is not another process's.
	_ = tell.Close()
	_ = process.Wait()
	if handle.wasThere(now()) {
		t.Error("a process that has ended is there")
	}
	if got, held := look(pipe, uint32(process.Process.Pid)); held.Close() != nil || got.Identity != (Identity{}) {
		t.Errorf("a process that has ended has the identity %+v", got)
	}

	_ = client.Close()
	if got, held := look(pipe, uint32(os.Getpid())); held.Close() != nil || got.Identity != (Identity{}) {
		t.Errorf("the client has closed the pipe, and a process with its number has the identity %+v", got)
	}
}
