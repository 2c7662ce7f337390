// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// twoUsers has a rule for root and a narrower one for user 1000.
const twoUsers = `- name: root
  clients: [{uid: 0}]
  methods: ['*']
  directories: ['` + kubelet + `']
- name: user
  clients: [{uid: 1000}]
  methods: [disk/v1/ListDiskIDs]
`

// dialAs opens a connection as another user, which needs root. The thread that does it keeps root's capabilities, so
// that it gets past the socket's mode, and ends afterwards.
func dialAs(t *testing.T, socket string, uid uintptr) net.Conn {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("require root, to be another user")
	}
	type result struct {
		net.Conn
		error
	}
	opened := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // for good
		const noSetuidFixup = 1 << 2
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, noSetuidFixup, 0, 0, 0); err != nil {
			opened <- result{nil, err}
			return
		}
		keep := ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uid, keep); errno != 0 {
			opened <- result{nil, errno}
			return
		}
		c, err := net.Dial("unix", socket)
		opened <- result{c, err}
	}()
	got := <-opened
	noError(t, got.error)
	return got.Conn
}

// over returns a client of the disk group on an open connection.
func over(t *testing.T, c net.Conn) disk.DiskClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return c, nil }))
	noError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return disk.NewDiskClient(conn)
}

// Each connection has the rights of the user that opened it, not of the process's other connections.
func TestPolicyOfEachConnection(t *testing.T) {
	n := testnode.Start(t, testnode.Options{Policy: parsePolicy(t, twoUsers)})
	socket := n.Socket("disk", "v1")
	for i, uid := range []uintptr{0, 1000, 0, 1000, 1001} {
		client := over(t, dialAs(t, socket, uid))
		_, err := client.Rescan(t.Context(), &disk.RescanRequest{})
		if uid == 0 {
			wantCode(t, "root's Rescan", err, codes.OK)
		} else {
			wantPolicy(t, i, err)
		}
		_, err = client.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
		if uid == 1001 {
			wantPolicy(t, "a user without a rule", err)
		} else {
			wantCode(t, i, err, codes.OK)
		}
	}
}

// A connection that is handed to another process has the rights of the one that opened it: a user gains nothing from
// root's process, and what root gives away is root's.
func TestPolicyOfAHandedOverConnection(t *testing.T) {
	n := testnode.Start(t, testnode.Options{Policy: parsePolicy(t, twoUsers)})
	for uid, want := range map[uintptr]codes.Code{1000: codes.PermissionDenied, 0: codes.OK} {
		opened := dialAs(t, n.Socket("disk", "v1"), uid)
		client := over(t, handedOver(t, opened.(*net.UnixConn)))
		_, err := client.Rescan(t.Context(), &disk.RescanRequest{})
		wantCode(t, uid, err, want)
		if want != codes.OK {
			wantPolicy(t, uid, err)
		}
	}
}

// handedOver sends a connection through a socket pair, as one process does to another, and returns what arrives.
func handedOver(t *testing.T, c *net.UnixConn) net.Conn {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	noError(t, err)
	defer func() { _ = unix.Close(pair[0]); _ = unix.Close(pair[1]) }()
	file, err := c.File()
	noError(t, err)
	noError(t, unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(int(file.Fd())), nil, 0))
	_ = file.Close()
	_ = c.Close()
	rights := make([]byte, unix.CmsgSpace(4))
	_, size, _, _, err := unix.Recvmsg(pair[1], make([]byte, 1), rights, 0)
	noError(t, err)
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	noError(t, err)
	fds, err := unix.ParseUnixRights(&messages[0])
	noError(t, err)
	arrived := os.NewFile(uintptr(fds[0]), "handed over")
	defer arrived.Close()
	conn, err := net.FileConn(arrived)
	noError(t, err)
	return conn
}
