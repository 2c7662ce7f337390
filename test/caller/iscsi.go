// SPDX-License-Identifier: Apache-2.0

package caller

import "github.com/kubernetes-csi/csi-proxy/internal/testing/calls"

// The storage system of an emulated node: what its first two targets, of which one wants CHAP, ask for.
const (
	Array      = calls.Array
	OpenTarget = "iqn.2026-01.emulated:open"
	CHAPTarget = "iqn.2026-01.emulated:chap"
	CHAPUser   = "csi-user"
	CHAPSecret = "chap-secret-123"
)

// Discovered registers Array, and returns its targets.
func (c *Calls) Discovered() []string {
	c.t.Helper()
	c.OK(c.AddTargetPortal(Array))
	iqns, err := c.DiscoverTargetPortal(Array)
	c.OK(err)
	return iqns
}

// TargetDisks returns the disks of a target of Array.
func (c *Calls) TargetDisks(iqn string) []string {
	c.t.Helper()
	disks, err := c.GetTargetDisks(iqn)
	c.OK(err)
	return disks
}

// Connected logs in to OpenTarget, and returns its disks once they have their numbers.
func (c *Calls) Connected() []string {
	c.t.Helper()
	c.Discovered()
	c.OK(c.ConnectTarget(OpenTarget))
	return c.TargetDisks(OpenTarget)
}
