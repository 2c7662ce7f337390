// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// ServiceState is a state of a service of the node, as Windows numbers it.
type ServiceState uint32

// The states.
const (
	ServiceStopped      = ServiceState(win32.SERVICE_STOPPED)
	ServiceStartPending = ServiceState(win32.SERVICE_START_PENDING)
	ServiceStopPending  = ServiceState(win32.SERVICE_STOP_PENDING)
	ServiceRunning      = ServiceState(win32.SERVICE_RUNNING)
	ServicePaused       = ServiceState(win32.SERVICE_PAUSED)
)

// SetServiceState puts a service into a state at once, as a failure or an administrator does. A pending state ends as
// usual. Dependencies are ignored.
func (n *Node) SetServiceState(name string, state ServiceState) {
	n.t.Helper()
	to := uint32(state)
	n.must("setting a service", n.agent.Emulated().SetService(name, emulated.ServiceChange{State: &to}))
}

// ServiceStart is when a service starts, as Windows numbers it.
type ServiceStart uint32

// The start types.
const (
	StartAutomatic = ServiceStart(win32.SERVICE_AUTO_START)
	StartManual    = ServiceStart(win32.SERVICE_DEMAND_START)
	StartDisabled  = ServiceStart(win32.SERVICE_DISABLED)
)

// SetServiceStart changes when a service starts.
func (n *Node) SetServiceStart(name string, start ServiceStart) {
	n.t.Helper()
	to := uint32(start)
	n.must("setting a service", n.agent.Emulated().SetService(name, emulated.ServiceChange{StartType: &to}))
}

// SetServicePendingTime makes a service slow: from now on it takes at least this long to start and to stop, by the
// node's clock. While the clock is stopped, it stays pending.
func (n *Node) SetServicePendingTime(name string, pending time.Duration) {
	n.t.Helper()
	n.must("setting a service", n.agent.Emulated().SetService(name, emulated.ServiceChange{PendingTime: &pending}))
}

// SetSwitch sets the node's answer to a question that the documentation of Windows leaves open, by its name in scenario
// files: SetSwitch("msr", "delayed"). A driver should work with all answers.
func (n *Node) SetSwitch(name, answer string) {
	n.t.Helper()
	n.must("setting a switch", n.agent.Emulated().SetSwitch(name, answer))
}

// Switches returns the node's current answers, by name.
func (n *Node) Switches() map[string]string {
	n.t.Helper()
	answers := map[string]string{}
	for _, s := range n.agent.Emulated().Switches() {
		answers[s.Name] = s.Value
	}
	return answers
}

// Now returns the node's time. Services that start or stop, iSCSI portals that are cut off, the times of files that the
// agent makes and operations with Options.WindowsTiming go by it; deadlines of calls do not.
func (n *Node) Now() time.Time {
	now, _ := n.agent.Emulated().Clock()
	return now
}

// SetClock sets the node's clock.
func (n *Node) SetClock(to time.Time) { n.t.Helper(); n.setClock(emulated.ClockChange{To: to}) }

// AdvanceClock lets time pass on the node. Everything due by then has happened when it returns.
func (n *Node) AdvanceClock(by time.Duration) {
	n.t.Helper()
	n.setClock(emulated.ClockChange{Advance: by})
}

// StopClock stops the node's clock, except for AdvanceClock and SetClock: the test decides when something is over.
func (n *Node) StopClock() {
	n.t.Helper()
	stopped := true
	n.setClock(emulated.ClockChange{Stopped: &stopped})
}

// StartClock starts the node's clock again.
func (n *Node) StartClock() {
	n.t.Helper()
	stopped := false
	n.setClock(emulated.ClockChange{Stopped: &stopped})
}

func (n *Node) setClock(change emulated.ClockChange) {
	n.t.Helper()
	_, err := n.agent.Emulated().SetClock(change)
	n.must("setting the clock", err)
}
