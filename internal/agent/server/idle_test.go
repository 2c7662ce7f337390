// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// idleMost is how many bytes of heap and stacks a connection may keep that has made a call and is idle: gRPC's buffer
// for reading and the stacks of three goroutines.
const idleMost = 56 << 10

// TestIdleConnections has drivers that keep a connection open after each call. The memory of a connection does not
// depend on the machine's speed.
func TestIdleConnections(t *testing.T) {
	dir := openDir(t, t.TempDir())
	serve(t, dir, server.Options{}, found)
	socket := dir.Path(endpointName)
	all := 200
	if os.Getenv("CSI_PROXY_LONG") != "" {
		all = 1000
	}
	ends := make([]int, 0, all+1)
	t.Cleanup(func() {
		for _, fd := range ends {
			_ = syscall.Close(fd)
		}
	})
	ends = append(ends, callOnce(t, socket))
	before := inUse()
	for range all {
		ends = append(ends, callOnce(t, socket))
	}
	each := (inUse() - before) / int64(all)
	t.Logf("%d bytes each", each)
	if each > idleMost {
		t.Errorf("an idle connection keeps %d bytes, want %d at most", each, idleMost)
	}
}

// inUse returns how many bytes of heap and stacks are in use, after what was free has been collected.
func inUse() int64 {
	var m runtime.MemStats
	for range 3 { // pools give up what they hold at the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// callOnce makes one call over a new connection and returns its end, which has no memory in this process.
func callOnce(t *testing.T, socket string) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket})
	}
	if err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: "/v1.Filesystem/PathExists"},
		{Name: ":authority", Value: "x"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	} {
		_ = e.WriteField(f) // into memory
	}
	conn := blocking(fd)
	_, err = conn.Write([]byte(http2.ClientPreface))
	fr := http2.NewFramer(conn, conn)
	err = errors.Join(err, fr.WriteSettings(),
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}),
		fr.WriteData(1, true, []byte{0, 0, 0, 0, 3, 0x0a, 1, 'x'}))
	for ended := false; err == nil && !ended; {
		var frame http2.Frame
		if frame, err = fr.ReadFrame(); err == nil {
			h, ok := frame.(*http2.HeadersFrame)
			ended = ok && h.StreamEnded()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// blocking is a socket outside Go's poller.
type blocking int

func (fd blocking) Read(p []byte) (int, error) {
	n, err := syscall.Read(int(fd), p)
	return n, os.NewSyscallError("read", err)
}

func (fd blocking) Write(p []byte) (int, error) {
	n, err := syscall.Write(int(fd), p)
	return n, os.NewSyscallError("write", err)
}
