// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestAgentComesLater: a client that was made before the agent started needs no new one, and one group that is off
// hinders no other.
func TestAgentComesLater(t *testing.T) {
	p := newAgentHome(t)
	c := p.client(csiproxy.Options{})
	if versions, err := c.Connect(t.Context()); !errors.Is(err, csiproxy.ErrNoAgent) {
		t.Fatalf("Connect without an agent = %v, %v, want ErrNoAgent", versions, err)
	}
	p.start("iscsi=off")
	if versions, err := c.Connect(t.Context()); err != nil || versions["disk"] != "v1" || versions["iscsi"] != "" {
		t.Errorf("Connect = %v, %v, want disk v1 and no iscsi", versions, err)
	}
	_, err := caller.By(t, c).ListDiskIDs()
	caller.OK(t, err)
}

// TestRestart: drivers do not notice that the agent is replaced, whether the new one has the same versions, newer or
// older.
func TestRestart(t *testing.T) {
	tests := []struct {
		name          string
		before, after []string
		want          string // the version of the volume API afterwards
	}{
		{"by the same", nil, nil, "v2alpha1"},
		{"by a newer one", []string{"volume=v1beta2"}, []string{"volume=v2alpha1"}, "v2alpha1"},
		{"by an older one", nil, []string{"volume=v1beta2,v1beta1"}, "v1beta2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newAgentHome(t)
			stop := p.start(tt.before...)
			c := p.client(csiproxy.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			call := func() error { _, err := caller.By(t, c).Within(ctx).ListVolumesOnDisk(0); return err }
			caller.OK(t, call())

			// Drivers that go on calling while the agent is replaced.
			done := make(chan struct{})
			var drivers sync.WaitGroup
			for range 4 {
				drivers.Go(func() {
					for {
						if err := call(); err != nil {
							t.Errorf("a call during the restart: %v", err)
							return
						}
						select {
						case <-done:
							return
						default:
						}
					}
				})
			}
			stop()
			p.start(tt.after...)
			close(done)
			drivers.Wait()

			if err := call(); err != nil {
				t.Errorf("a call after the restart: %v", err)
			}
			versions, err := c.Connect(ctx)
			if err != nil || versions["volume"] != tt.want {
				t.Errorf("afterwards: %v, %v, want volume %s", versions, err, tt.want)
			}
		})
	}
}

// TestCallWithoutAgentEndsAtItsDeadline: a call gives up at its deadline, or at once when the client is not to wait.
func TestCallWithoutAgentEndsAtItsDeadline(t *testing.T) {
	p := newAgentHome(t)
	stop := p.start()
	impatient, patient := p.client(csiproxy.Options{Restart: -1}), p.client(csiproxy.Options{})
	for _, c := range []*csiproxy.Client{impatient, patient} {
		if _, err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	_, err := caller.By(t, impatient).ListDiskIDs()
	if !errors.Is(err, csiproxy.ErrNoAgent) {
		t.Errorf("a client that does not wait gets %v, want ErrNoAgent", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err = caller.By(t, patient).Within(short).ListDiskIDs()
	if !errors.Is(err, csiproxy.ErrNoAgent) || !errors.Is(err, context.DeadlineExceeded) ||
		status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call past its deadline gets %v (%v), want ErrNoAgent and DeadlineExceeded", err, status.Code(err))
	}
}

// TestClosedClient: calls of a closed client fail and open nothing.
func TestClosedClient(t *testing.T) {
	p := newAgentHome(t)
	p.start()
	c := p.client(csiproxy.Options{})
	caller.OK(t, c.Close())
	if _, err := caller.By(t, c).ListDiskIDs(); status.Code(err) != codes.Canceled {
		t.Errorf("a call of a closed client: %v, want Canceled", err)
	}
}
