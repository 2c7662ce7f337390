// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/admission"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// ask calls PathExists of nothing on a stream.
func (p *peer) ask(stream uint32) {
	p.t.Helper()
	noError(p.t, p.begin(stream, false))
	noError(p.t, p.WriteData(stream, true, []byte{0, 0, 0, 0, 0}))
}

// A client that gives no window cannot be answered, and would keep what its calls hold although they are over. Such calls
// count as running, and after a while the connection is closed.
func TestAnswersThatAreNotTaken(t *testing.T) {
	const calls = 8
	g := attack(t, testnode.Options{Limits: admission.Limits{ClientCalls: calls, Wait: 10 * time.Millisecond, Unread: 2 * time.Second}})
	p := g.peer()
	noError(t, p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	for i := range uint32(calls) {
		noError(t, p.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*i + 1, BlockFragment: headersOf("/v2alpha1.Filesystem/PathExists"), EndHeaders: true,
		}))
		noError(t, p.WriteData(2*i+1, true, request(pods)))
	}
	refused := func() bool {
		_, err := g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: pods})
		return codeOf(err) == codes.ResourceExhausted && reason(err) == "TOO_MANY_CALLS"
	}
	eventually(t, "another call of the process is refused", refused)
	end := p.drain()
	select {
	case <-end:
	case <-time.After(time.Minute):
		t.Fatal("the connection stays open")
	}
	g.alive()
}

// Half requests hold what has been sent of them. The connection that holds most is closed, others stay.
func TestHalfRequestsHoldMemory(t *testing.T) {
	const most = 1 << 20
	g := attack(t, testnode.Options{Limits: admission.Limits{ClientBytes: most}})
	other := g.peer()
	p := g.peer()
	end := p.drain()
	sent := 0
	for i := range uint32(200) {
		if p.begin(2*i+1, false) != nil {
			break
		}
		if p.WriteData(2*i+1, false, append([]byte{0, 0, 1, 0, 0}, make([]byte, 8<<10)...)) != nil {
			break
		}
		sent++
	}
	<-end
	if sent < 20 {
		t.Errorf("the connection was closed after %d half requests of 8 KiB, with %d bytes allowed", sent, most)
	}
	other.ask(1)
	if got, want := other.status(1), "3"; got != want { // InvalidArgument: no path
		t.Errorf("on another connection: status %s, want %s", got, want)
	}
	g.alive()
}

// request returns a gRPC message with a path as its first field.
func request(path string) []byte {
	return append([]byte{0, 0, 0, 0, byte(len(path) + 2), 0x0a, byte(len(path))}, path...)
}
