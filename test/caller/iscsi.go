// SPDX-License-Identifier: Apache-2.0

package caller

import (
	"fmt"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
)

// The storage system of an emulated node: what its first two targets, of which one wants CHAP, ask for.
const (
	Array      = "192.0.2.10"
	OpenTarget = "iqn.2026-01.emulated:open"
	CHAPTarget = "iqn.2026-01.emulated:chap"
	CHAPUser   = "csi-user"
	CHAPSecret = "chap-secret-123"
)

func portalAt(address string) *iscsiapi.TargetPortal {
	return &iscsiapi.TargetPortal{TargetAddress: address}
}

func (c *Calls) AddTargetPortal(address string) error {
	return done(c.clients().ISCSI.AddTargetPortal(c.ctx,
		&iscsiapi.AddTargetPortalRequest{TargetPortal: portalAt(address)}))
}

func (c *Calls) DiscoverTargetPortal(address string) (iqns []string, err error) {
	r, err := c.clients().ISCSI.DiscoverTargetPortal(c.ctx,
		&iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalAt(address)})
	return r.GetIqns(), err
}

func (c *Calls) RemoveTargetPortal(address string) error {
	return done(c.clients().ISCSI.RemoveTargetPortal(c.ctx,
		&iscsiapi.RemoveTargetPortalRequest{TargetPortal: portalAt(address)}))
}

// ListTargetPortals returns ADDRESS:PORT of each.
func (c *Calls) ListTargetPortals() (portals []string, err error) {
	r, err := c.clients().ISCSI.ListTargetPortals(c.ctx, &iscsiapi.ListTargetPortalsRequest{})
	for _, p := range r.GetTargetPortals() {
		portals = append(portals, fmt.Sprintf("%s:%d", p.GetTargetAddress(), p.GetTargetPort()))
	}
	return portals, err
}

// ConnectTarget logs in to a target of Array without authentication.
func (c *Calls) ConnectTarget(iqn string) error { return c.ConnectTargetAs(iqn, 0, "", "") }

// ConnectTargetAs logs in to a target of Array.
func (c *Calls) ConnectTargetAs(iqn string, how iscsiapi.AuthenticationType, user, secret string) error {
	return done(c.clients().ISCSI.ConnectTarget(c.ctx, &iscsiapi.ConnectTargetRequest{TargetPortal: portalAt(Array),
		Iqn: iqn, AuthType: how, ChapUsername: user, ChapSecret: secret}))
}

// DisconnectTarget logs out of a target of Array.
func (c *Calls) DisconnectTarget(iqn string) error {
	return done(c.clients().ISCSI.DisconnectTarget(c.ctx,
		&iscsiapi.DisconnectTargetRequest{TargetPortal: portalAt(Array), Iqn: iqn}))
}

// GetTargetDisks returns the disks of a target of Array.
func (c *Calls) GetTargetDisks(iqn string) (disks []string, err error) {
	r, err := c.clients().ISCSI.GetTargetDisks(c.ctx,
		&iscsiapi.GetTargetDisksRequest{TargetPortal: portalAt(Array), Iqn: iqn})
	return r.GetDiskIDs(), err
}

func (c *Calls) SetMutualChapSecret(secret string) error {
	return done(c.clients().ISCSI.SetMutualChapSecret(c.ctx,
		&iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: secret}))
}

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
