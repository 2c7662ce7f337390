// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// told remembers the events that an observer is told.
type told struct {
	mu     sync.Mutex
	events []string
}

func (o *told) observe(operation string, e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := [...]string{Queued: "queued", Begun: "begun", Ended: "ended", Dropped: "dropped",
		Joined: "joined", GaveUp: "gave up"}[e]
	o.events = append(o.events, operation+" "+name)
}

// what returns the events since the last time.
func (o *told) what() (events []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	events, o.events = o.events, nil
	return events
}

// An operation's events come in order and in pairs, whatever its callers do, and none has an argument in its name.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o told
		n := NewRunner(Config{})
		n.config.Observer = o.observe
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if d := cmp.Diff(want, o.what()); d != "" {
				t.Errorf("%s (-want +got):\n%s", when, d)
			}
		}
		proceed := make(chan struct{})
		stay := func(*Operation) (int, error) { <-proceed; return 0, nil }
		id, _ := winpath.ParseVolumeID(`\\?\Volume{11111111-1111-1111-1111-111111111111}\`)
		mount := On("Mount", Volume(id))
		first := startChange(t.Context(), n, mount, stay)
		expect("alone", "Mount queued", "Mount begun")
		second := startChange(t.Context(), n, mount, stay)
		expect("identical", "Mount joined")
		short, cancel := context.WithCancel(t.Context())
		other := startChange(short, n, On("Unmount", Volume(id)), stay)
		expect("another on the same volume", "Unmount queued")
		cancel()
		_, _ = other()
		expect("and it gives up", "Unmount gave up", "Unmount dropped")
		hasty, cancel := context.WithCancel(t.Context())
		third := startChange(hasty, n, mount, stay)
		expect("one more", "Mount joined")
		cancel()
		_, _ = third()
		expect("who does not wait", "Mount gave up")
		close(proceed)
		_, _ = first()
		_, _ = second()
		expect("the end", "Mount ended")

		_, _ = Read(t.Context(), n, On("GetService", Service("secret-name")), func(*Operation) (int, error) { return 0, nil })
		expect("a read", "GetService queued", "GetService begun", "GetService ended")
		_, _ = Change(t.Context(), n, mount, func(*Operation) (int, error) { panic("boom") })
		expect("a panic", "Mount queued", "Mount begun", "Mount ended")
		_, _ = Read(t.Context(), n, On("Look"), func(*Operation) (int, error) { return 0, fmt.Errorf("no") })
		expect("a failure", "Look queued", "Look begun", "Look ended")
	})
}
