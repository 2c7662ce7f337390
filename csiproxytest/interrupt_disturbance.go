// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
)

// A Disturbance is what happens at one call of an operation: one of Fails, Dies and Meanwhile.
type Disturbance struct {
	Name string
	// After lets the call take effect first.
	After bool
	// Fails makes a Windows function fail, and Cut an API call: with UNAVAILABLE, or by closing its connection after it
	// took effect.
	Fails WindowsError
	Cut   bool
	// Dies ends the agent. Its node goes on with what it has kept; with Reboots it restarts as well, as after a loss of
	// power.
	Dies, Reboots bool
	// Meanwhile is called while the call waits.
	Meanwhile func(n *Node)
	// Repair is called before the repetition, which comes even if the operation succeeded.
	Repair func(t *testing.T, n *Node)
	// Times is how many such calls are disturbed, from this one on. 0: one.
	Times int
	// At selects calls. Nil: all.
	At func(call Calls) bool
}

func interruptions() []Disturbance {
	return []Disturbance{
		{Name: "fails", Fails: ERROR_NOT_READY, Cut: true},
		{Name: "fails after effect", Fails: ERROR_NOT_READY, Cut: true, After: true},
		{Name: "death before", Dies: true},
		{Name: "death after effect", Dies: true, After: true},
	}
}

// fits reports whether a call can be disturbed so.
func (d Disturbance) fits(p point) bool {
	isAPI := p.calls.Method != ""
	can := d.Dies || d.Meanwhile != nil || isAPI && d.Cut || !isAPI && d.Fails != 0
	return can && (d.At == nil || d.At(p.calls))
}

// run runs an operation and disturbs it at a call.
func (d Disturbance) run(t *testing.T, n *Node, calls Calls,
	operation func(context.Context, *Node) error) (met bool, err error) {
	t.Helper()
	if !d.Dies && d.Meanwhile == nil {
		end := n.failAt(calls, d)
		err = operation(t.Context(), n)
		set := n.emulation().Faults.List()
		end() // it may have met fewer such calls this time
		return !slices.ContainsFunc(set, func(s *nodeapi.FaultStatus) bool { return s.GetDisturbed() == 0 }), err
	}
	hang := n.Hang
	if d.After {
		hang = n.HangAfter
	}
	reached, release := hang(calls)
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- operation(t.Context(), n) }()
	select {
	case err := <-ended: // without such a call
		return false, err
	case <-reached:
	}
	if d.Meanwhile != nil {
		d.Meanwhile(n)
		release()
		return true, <-ended
	}
	kept := n.Save()
	n.Restore(kept)
	if d.Reboots {
		n.Reboot()
	}
	return true, <-ended
}

// failAt makes calls fail.
func (n *Node) failAt(calls Calls, d Disturbance) (end func()) {
	n.t.Helper()
	switch {
	case calls.Method != "" && d.After:
		return n.CutAfter(calls)
	case calls.Method != "":
		return n.FailRPC(calls, codes.Unavailable, "interrupted by the test")
	case d.After:
		return n.FailAfter(calls, d.Fails)
	default:
		return n.Fail(calls, d.Fails)
	}
}
