// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

// A client whose calls all hang waits first in line, and the place that becomes free goes to the next one.
func TestALineThatCannotMoveHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 3, ClientCalls: 2, Wait: time.Hour})
		hung, driver := g.client(1), g.client(2)
		for range 2 {
			<-g.call(t.Context(), hung)
		}
		stuck := g.call(t.Context(), hung)
		first := <-g.call(t.Context(), driver)
		second := g.call(t.Context(), driver)
		first.slot.Release()
		synctest.Wait()
		if len(second) != 1 || len(stuck) != 0 {
			t.Errorf("let in: %d calls of the driver and %d of the client that hangs, want 1 and 0", len(second), len(stuck))
		}
		time.Sleep(2 * time.Hour)
	})
}
