// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net"
	"testing"
	"testing/synctest"
)

// A connection of a client with many calls open is not read while there are too many goroutines, and is read again when
// its calls end or it is closed; one of a client with few calls always is.
func TestBrake(t *testing.T) {
	for name, c := range map[string]struct {
		streams, handlers int
		braked            bool
	}{
		"many calls, too many goroutines": {40, -1000, true},
		"many calls, few goroutines":      {40, 1000, false},
		"few calls, too many goroutines":  {32, -1000, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cs := newCrowd(t, Limits{Handlers: c.handlers})
				cs.connect(user(1), 1, true)
				conn := cs.of["pid 1 uid 0"][0]
				here, there := net.Pipe()
				conn.Conn = here
				conn.received(make([]byte, clientPreface))
				frame := func(stream int, flags byte) []byte {
					return []byte{0, 0, 0, frameHeaders, flags, 0, 0, 0, byte(stream)}
				}
				for i := range c.streams {
					conn.received(frame(2*i+1, 0))
				}
				go func() { _, _ = there.Write([]byte("x")) }()
				read := make(chan struct{})
				go func() {
					defer close(read)
					_, _ = conn.Read(make([]byte, 1))
				}()
				synctest.Wait()
				select {
				case <-read:
					if c.braked {
						t.Error("it was read at once")
					}
				default:
					if !c.braked {
						t.Error("it is not read")
					}
				}
				for i := range c.streams - lightBytes/streamBytes {
					conn.sent(frame(2*i+1, flagEndStream))
				}
				<-read
				_ = there.Close()
			})
		})
	}
}
