// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"runtime"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// A stop is a way in which an agent ends.
type stop struct {
	name     string
	graceful bool // running calls may finish
	end      func(*testnode.Process)
}

// older returns an older release's selection, as arguments: nothing newer than v1.
func older() []string {
	return []string{"-api=filesystem=v1alpha1,v1beta1,v1beta2,v1", "-api=volume=v1alpha1,v1beta1,v1beta2,v1beta3,v1"}
}

// onNode returns the arguments of an agent on the emulated node in a directory.
func onNode(state string, more ...string) []string {
	args := append([]string{"-state-dir=" + state}, more...)
	if runtime.GOOS != "windows" {
		args = append(args, "-socket-dir="+os.Getenv(dial.SocketDirVariable))
	}
	return args
}

// TestUpgradeAndDowngradeUnderDrivers replaces an agent with a newer one, and that with the older one again, while
// drivers work. Their clients are opened once. No call that waits for the agent fails because an agent stopped; a call
// that runs when the agent is killed fails with Unavailable, and repeating it brings the node to the intended state:
// the drivers check each answer.
func TestUpgradeAndDowngradeUnderDrivers(t *testing.T) {
	for _, s := range stops() {
		t.Run(s.name, func(t *testing.T) {
			meet(t)
			state := testnode.ShortDir(t)
			a := testnode.LaunchEmulated(t, onNode(state, older()...)...)
			drivers := work(t, newDriver(t, 0), newDriver(t, 1))
			drivers.turns(t)
			for _, args := range [][]string{nil, older()} {
				s.end(a)
				a = testnode.LaunchEmulated(t, onNode(state, args...)...)
				drivers.turns(t)
			}
			drivers.stop(t)
			for i, d := range drivers.drivers {
				if s.graceful && d.repeated > 0 {
					t.Errorf("driver %d had to repeat %d calls, though every agent let its calls finish", i, d.repeated)
				}
				t.Logf("driver %d: %d lives, %d calls, %d of them repeated", i, d.lives.Load(), d.calls, d.repeated)
			}
		})
	}
}
