// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/admission"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// handed is how many connections a child opens and hands to its parent, over the socket that is its file 3.
const handed = 15

// handerSocket is set for a copy of this program that opens connections and hands them over.
const handerSocket = "HOSTILE_HANDER_SOCKET"

func init() { copies[handerSocket] = hander } //nolint:gochecknoinits // only Linux has it

// hander opens the connections, hands them over and ends.
func hander(socket string) int {
	for range handed {
		conn, err := testnode.DialRaw(context.Background(), socket)
		if err != nil {
			return 1
		}
		file, err := conn.(*net.UnixConn).File() //nolint:forcetypeassert // Linux
		if err != nil {
			return 1
		}
		if err := syscall.Sendmsg(3, []byte{0}, syscall.UnixRights(int(file.Fd())), nil, 0); err != nil {
			return 1
		}
		_, _ = file.Close(), conn.Close()
	}
	return 0
}

// takeFromChild returns the connections of a child that has ended.
func (g *target) takeFromChild(socket string) (conns []net.Conn) {
	g.t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	noError(g.t, err)
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	c := g.another(handerSocket, socket)
	c.ExtraFiles = []*os.File{theirs}
	noError(g.t, c.Run())
	noError(g.t, theirs.Close())
	defer func() { _ = syscall.Close(pair[0]) }()
	for range handed {
		rights := make([]byte, syscall.CmsgSpace(4))
		_, n, _, _, err := syscall.Recvmsg(pair[0], make([]byte, 1), rights, syscall.MSG_CMSG_CLOEXEC)
		noError(g.t, err)
		messages, err := syscall.ParseSocketControlMessage(rights[:n])
		noError(g.t, err)
		fds, err := syscall.ParseUnixRights(&messages[0])
		noError(g.t, err)
		file := os.NewFile(uintptr(fds[0]), "handed over")
		conn, err := net.FileConn(file)
		noError(g.t, err)
		noError(g.t, file.Close())
		g.t.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	return conns
}

// open returns how many connections the agent has not closed.
func open(t *testing.T, conns []net.Conn) (count int) {
	t.Helper()
	for _, c := range conns {
		noError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
		if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
			count++
		}
	}
	return count
}

// Children open few connections each, hand them to one process and end. That one keeps them open: they are all of what no
// longer has a process, and go before those of a driver that has more than any child had.
func TestConnectionsHandedOver(t *testing.T) {
	if !testnode.Long() {
		t.Skip("make test-long runs it")
	}
	const most, children, own = 120, 12, 20
	g := attack(t, testnode.Options{Limits: admission.Limits{Connections: most}})
	socket := g.Socket("filesystem", "v2alpha1")
	var mine, theirs []net.Conn
	for range own {
		conn, err := testnode.DialRaw(t.Context(), socket)
		noError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		mine = append(mine, conn)
	}
	for range children {
		theirs = append(theirs, g.takeFromChild(socket)...)
	}
	g.alive() // so everything before was accepted
	eventually(t, "the surplus is closed", func() bool { return open(t, mine)+open(t, theirs) <= most })
	if got := open(t, mine); got != own {
		t.Errorf("%d of %d connections of the driver stay open, and %d of %d that were handed over", got, own, open(t, theirs), len(theirs))
	}
	g.alive()
}

// A process that gets the number of one that left calls behind is another process.
func TestNumberOfAProcessThatLeftCallsBehind(t *testing.T) {
	g := attack(t, testnode.Options{Metrics: true, Limits: admission.Limits{Calls: 4 * childCalls, Wait: 20 * time.Millisecond}})
	_, release := g.Faults.HangAll("OpenFile")
	defer release()
	c := g.another(childSocket, g.Socket("filesystem", "v2alpha1"))
	input, err := c.StdinPipe()
	noError(t, err)
	noError(t, c.Start())
	eventually(t, "the child's calls hang", func() bool { return g.metric("csi_proxy_call_places_taken") == childCalls })
	_ = input.Close()
	noError(t, c.Wait())
	for range 100 { // others fork too
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(c.Process.Pid-1)), 0); err != nil {
			t.Skipf("a process's number cannot be chosen: %v", err)
		}
		again := g.another(driverSocket, g.Socket("disk", "v1"))
		got, pid := outputOf(t, again)
		if pid != c.Process.Pid {
			continue
		}
		if got != fmt.Sprintln(codes.OK) {
			t.Errorf("the next process with the number %d gets %s", pid, got)
		}
		return
	}
	t.Skipf("no process got the number %d", c.Process.Pid)
}

func outputOf(t *testing.T, c *exec.Cmd) (output string, pid int) {
	t.Helper()
	out, err := c.Output()
	noError(t, err)
	return string(out), c.Process.Pid
}

// The calls on connections that were handed over are those of one client, which is over its limit as soon as one process
// would be.
func TestCallsOnConnectionsHandedOver(t *testing.T) {
	g := attack(t, testnode.Options{Metrics: true, Limits: admission.Limits{Calls: 64, ClientCalls: 32, Wait: 20 * time.Millisecond}})
	_, release := g.Faults.HangAll("OpenFile")
	defer release()
	for i := range 4 {
		for j, conn := range g.takeFromChild(g.Socket("filesystem", "v2alpha1")) {
			p := g.speak(conn)
			p.drain()
			for k := range uint32(handed) {
				noError(t, p.begin(2*k+1, false))
				noError(t, p.WriteData(2*k+1, true, request(fmt.Sprintf(`%s\%d-%d-%d`, pods, i, j, k))))
			}
		}
	}
	eventually(t, "their calls hang or are refused", func() bool {
		return g.metric("csi_proxy_calls_total")+g.metric("csi_proxy_calls_in_flight") >= 4*handed*handed && g.metric("csi_proxy_calls_queued") == 0
	})
	if got := g.metric("csi_proxy_call_places_taken"); got > 32+1 {
		t.Errorf("%d of 64 places are taken, want no more than 32 and those of the others", got)
	}
	_, err := g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: `C:\`})
	wantCode(t, "a call beside them", err, codes.InvalidArgument)
}
