// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// peer is a client that speaks HTTP/2 frame by frame.
type peer struct {
	*http2.Framer
	t    *testing.T
	conn net.Conn
}

func (g *target) peer() *peer {
	g.t.Helper()
	conn, err := testnode.DialRaw(g.t.Context(), g.Socket("filesystem", "v2alpha1"))
	g.OK(err)
	g.t.Cleanup(func() { _ = conn.Close() })
	g.OK(conn.SetDeadline(time.Now().Add(time.Minute)))
	g.OK(only(conn.Write([]byte(http2.ClientPreface))))
	p := &peer{http2.NewFramer(conn, conn), g.t, conn}
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	g.OK(p.WriteSettings())
	return p
}

// headers returns the header block of a call of PathExists.
func headers() []byte { return headersOf("/v2alpha1.Filesystem/PathExists") }

// headersOf returns the header block of a call.
func headersOf(path string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path},
		{Name: ":authority", Value: "x"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	} {
		_ = e.WriteField(f) // into memory
	}
	return block.Bytes()
}

// headerField returns the header block of one field.
func headerField(name, value string) []byte {
	var block bytes.Buffer
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: name, Value: value}) // into memory
	return block.Bytes()
}

func (p *peer) begin(stream uint32, end bool) error {
	return p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers(),
		EndHeaders: true, EndStream: end})
}

// announce begins a call of a method and sends nothing of its request.
func (p *peer) announce(stream uint32, path string) {
	p.t.Helper()
	caller.OK(p.t, p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream,
		BlockFragment: headersOf(path), EndHeaders: true}))
}

// drain reads whatever the agent sends, so that it never waits for the test, and reports how it ended the connection.
func (p *peer) drain() <-chan http2.ErrCode {
	end := make(chan http2.ErrCode, 1)
	go func() {
		code := http2.ErrCodeNo
		for {
			frame, err := p.ReadFrame()
			if err != nil {
				end <- code
				return
			}
			if away, ok := frame.(*http2.GoAwayFrame); ok {
				code = away.ErrCode
			}
		}
	}()
	return end
}

// refused returns the first stream that the agent resets, and with what.
func (p *peer) refused() (stream uint32, code http2.ErrCode) {
	p.t.Helper()
	for {
		frame, err := p.ReadFrame()
		caller.OK(p.t, err)
		if r, ok := frame.(*http2.RSTStreamFrame); ok {
			return r.StreamID, r.ErrCode
		}
	}
}

// status returns the gRPC status with which a stream ends.
func (p *peer) status(stream uint32) string {
	p.t.Helper()
	for {
		frame, err := p.ReadFrame()
		caller.OK(p.t, err)
		if h, ok := frame.(*http2.MetaHeadersFrame); ok && h.StreamID == stream {
			for _, f := range h.Fields {
				if f.Name == "grpc-status" {
					return f.Value
				}
			}
		}
	}
}

// A client that floods the agent with pings is hung up on, and others are served.
func TestFloodOfPings(t *testing.T) {
	g := attack(t, testnode.Options{})
	p := g.peer()
	end := p.drain()
	for i := 0; i < 20000 && p.WritePing(false, [8]byte{byte(i)}) == nil; i++ {
	}
	if code := <-end; code != http2.ErrCodeEnhanceYourCalm {
		t.Errorf("the agent ends the connection with %v", code)
	}
	g.alive()
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("this never happened: %s", what)
		}
	}
}

// Of one connection, the 65th call is refused, whatever the client makes of what the agent announced, and so is a call
// whose headers are larger than 4 KiB, before anything is made of it.
func TestRefusedStreams(t *testing.T) {
	t.Parallel()
	g := attack(t, testnode.Options{CallTimeout: 5 * time.Second})
	p := g.peer()
	for i := range uint32(65) {
		g.OK(p.begin(2*i+1, false))
	}
	if stream, code := p.refused(); stream != 2*64+1 || code != http2.ErrCodeRefusedStream {
		t.Errorf("the first stream that is reset is %d, with %v; want %d, refused", stream, code, 2*64+1)
	}
	// or its calls, of the same process, keep all slots until they have waited for their requests for 5 s
	_ = p.conn.Close()
	p = g.peer()
	for i, fields := range []int{2, 6} {
		block := append(headers(), bytes.Repeat(headerField("x", strings.Repeat("y", 1<<10)), fields)...)
		g.OK(p.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block, EndHeaders: true}))
	}
	if stream, code := p.refused(); stream != 3 || code != http2.ErrCodeFrameSize {
		t.Errorf("the first stream that is reset is %d, with %v; want 3, for its size of 6 KiB", stream, code)
	}
	g.alive()
}

// A client that sends headers alone, or half of a request, and waits holds its place for at most as long as a call may
// take.
func TestIncompleteRequest(t *testing.T) {
	t.Parallel()
	g := attack(t, testnode.Options{CallTimeout: time.Second})
	for _, path := range []string{"/v2alpha1.Filesystem/PathExists", healthpb.Health_Check_FullMethodName,
		healthpb.Health_List_FullMethodName} {
		p := g.peer()
		p.announce(1, path)
		g.OK(p.WriteData(1, false, []byte{0, 0, 0, 1, 0, 0x0a})) // 256 bytes are to come
		if got, want := p.status(1), "4"; got != want {
			t.Errorf("%s: got the status %s, want %s, DeadlineExceeded", path, got, want)
		}
	}
	g.alive()
}

// request returns a gRPC message with a path as its first field.
func request(path string) []byte {
	return append([]byte{0, 0, 0, 0, byte(len(path) + 2), 0x0a, byte(len(path))}, path...)
}
