// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// TestAwaitWithAShortLimit covers cases that would take Open its whole time.
func TestAwaitWithAShortLimit(t *testing.T) {
	silent := func(t *testing.T) func(context.Context, string) (net.Conn, error) {
		return func(context.Context, string) (net.Conn, error) {
			near, far := net.Pipe()
			t.Cleanup(func() { _ = far.Close() })
			go func() { // reads everything and answers nothing
				buffer := make([]byte, 1024)
				for {
					if _, err := far.Read(buffer); err != nil {
						return
					}
				}
			}()
			return near, nil
		}
	}
	stuck := func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	tests := []struct {
		name   string
		opened bool
		dial   func(context.Context, string) (net.Conn, error)
		want   error
	}{
		{name: "an agent that opens and is slow to answer is an agent", opened: true, dial: silent(t)},
		{name: "an endpoint that does not open is busy", dial: stuck, want: errBusy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &opener{endpoint: endpoint{name: "x", address: "x"}, limit: 10 * time.Millisecond, opened: tt.opened}
			conn, err := grpc.NewClient("passthrough:///x", append(dialOptions(o), grpc.WithContextDialer(tt.dial))...)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := o.await(t.Context(), conn); !errors.Is(got, tt.want) {
				t.Errorf("await = %v, want %v", got, tt.want)
			}
		})
	}
}
