// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// ISCSI is the iscsi group: it connects the node to iSCSI targets, whose logical units then are disks. It works through
// the Windows service MSiSCSI, which it does not start: while that service is not running, all methods fail with
// FailedPrecondition. Windows keeps all state, portals even over reboots, so nothing is remembered here.
//
// Targets are named by their iSCSI names, in upper or lower case. A secret that is passed in is wiped when it is no
// longer needed, also on failure.
type ISCSI struct{ node *Node }

// AddTargetPortal registers a portal, also over reboots. A portal that is already registered is success.
func (s *ISCSI) AddTargetPortal(ctx context.Context, at TargetPortal) error {
	return s.atPortal(ctx, "AddTargetPortal", at, func(o *op, p portal) error {
		registered, err := o.registeredPortals(p)
		if err != nil || len(registered) > 0 {
			return err
		}
		err = o.initiator().addPortal(p)
		if err != nil && !errdefs.HasCode(err, win32.ISDSC_TARGET_PORTAL_ALREADY_EXISTS,
			win32.ISDSC_TARGET_ADDRESS_ALREADY_EXISTS) {
			o.undoAdd(p)
			return o.failISCSI(err, "registering the target portal %s", p)
		}
		return nil
	})
}

// undoAdd forgets a portal that was not registered before. AddIScsiSendTargetPortalW asks it for its targets, and was
// seen to leave it registered when that failed: the next call would find it and succeed.
func (o *op) undoAdd(p portal) {
	left, err := o.registeredPortals(p)
	if err == nil {
		err = o.forgetPortals(p, left)
	}
	if err != nil {
		o.log().Error(err, "A target portal may still be registered although registering it failed", "portal", p.String())
	}
}

// RemoveTargetPortal forgets a portal. A portal that is not registered is success; sessions stay.
func (s *ISCSI) RemoveTargetPortal(ctx context.Context, at TargetPortal) error {
	return s.atPortal(ctx, "RemoveTargetPortal", at, func(o *op, p portal) error {
		registered, err := o.registeredPortals(p)
		if err != nil {
			return err
		}
		return o.forgetPortals(p, registered)
	})
}

// forgetPortals removes registrations of a portal.
func (o *op) forgetPortals(p portal, registered []win32.ISCSITargetPortalInfo) error {
	for _, r := range registered {
		err := o.initiator().removePortal(r)
		if err != nil && !errdefs.HasCode(err, win32.ISDSC_PORTAL_NOT_FOUND, win32.ISDSC_NOT_FOUND) {
			return o.failISCSI(err, "forgetting the target portal %s", p)
		}
	}
	return nil
}

func (s *ISCSI) atPortal(ctx context.Context, verb string, at TargetPortal, f func(o *op, p portal) error) error {
	p, err := parsePortal(at)
	if err != nil {
		return err
	}
	return s.node.change(ctx, operation.On(verb, operation.Portal(p.String(), p.key())),
		func(o *op) error { return f(o, p) })
}

// DiscoverTargetPortal asks a registered portal for its targets and returns their names.
func (s *ISCSI) DiscoverTargetPortal(ctx context.Context, at TargetPortal) ([]string, error) {
	p, err := parsePortal(at)
	if err != nil {
		return nil, err
	}
	what := operation.On("DiscoverTargetPortal", operation.Portal(p.String(), p.key()))
	what.JoinQueuedOnly = true // a discovery that began earlier may have missed the target that the caller waits for
	return changeTo(ctx, s.node, what, func(o *op) ([]string, error) { return o.discover(p) })
}

func (o *op) discover(p portal) ([]string, error) {
	all, err := o.allPortals()
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(all), func(r win32.ISCSITargetPortalInfo) bool { return !p.is(r.Portal) })
	if len(own) == 0 {
		return nil, errdefs.NotFound.Errorf(reason.PortalNotFound,
			"the target portal %s is not registered on this node; register it with AddTargetPortal", p)
	}
	for _, r := range own {
		if err := o.initiator().refreshPortal(r); err != nil {
			return nil, o.failISCSI(err, "asking the target portal %s for its targets", p)
		}
	}
	return o.targetsAt(p, all)
}

// targetsAt returns the names of known targets that answer at a portal or that it named, but of none that just went.
func (o *op) targetsAt(p portal, registered []win32.ISCSITargetPortalInfo) ([]string, error) {
	all, err := o.initiator().targets()
	if err != nil {
		return nil, o.failISCSI(err, "listing the iSCSI targets")
	}
	names := []string{}
	for _, name := range all {
		portals, err := o.initiator().targetPortals(name)
		if errdefs.HasCode(err, win32.ISDSC_TARGET_NOT_FOUND, win32.ISDSC_NOT_FOUND) {
			continue
		}
		if err != nil {
			return nil, o.failISCSI(err, "asking where the target %s answers", name)
		}
		if slices.ContainsFunc(portals, p.is) || o.namedBy(p, registered, name, portals) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// namedBy reports whether a portal may have named a target that answers at other portals only. That is so behind a NAT,
// or if the portal is registered by its DNS name. If the initiator service does not tell, the portal counts as having
// named the target, unless the target answers at another portal that is registered.
func (o *op) namedBy(p portal, registered []win32.ISCSITargetPortalInfo, target string,
	portals []win32.ISCSITargetPortal) bool {
	mechanisms, err := o.initiator().discoveryMechanisms(target)
	if errdefs.HasCode(err, win32.ISDSC_TARGET_NOT_FOUND) {
		return false
	}
	told := err == nil && len(mechanisms) > 0
	for _, m := range mechanisms {
		by, sent := win32.ParseSendTargets(m)
		switch {
		case sent && p.is(by.Portal):
			return true
		case strings.HasPrefix(m, "iSNS:"), strings.HasPrefix(m, "HBA:"):
		case !sent, isIP(by.Portal.Address) && !isIP(p.address): // p may be told as its address
			told = false
		}
	}
	if told {
		return false
	}
	o.log().Info("The initiator service does not tell which portal named a target", "target", target,
		"mechanisms", mechanisms, "err", err)
	return !slices.ContainsFunc(portals, func(w win32.ISCSITargetPortal) bool {
		return slices.ContainsFunc(registered,
			func(r win32.ISCSITargetPortalInfo) bool { return portal{w.Address, w.Socket}.is(r.Portal) })
	})
}

func isIP(address string) bool {
	_, err := netip.ParseAddr(address)
	return err == nil
}

// ListTargetPortals lists all registered portals, also those that other programs registered.
func (s *ISCSI) ListTargetPortals(ctx context.Context) ([]TargetPortal, error) {
	return read(ctx, s.node, operation.On("ListTargetPortals", operation.ISCSIInitiator),
		func(o *op) ([]TargetPortal, error) {
			all, err := o.allPortals()
			if err != nil {
				return nil, err
			}
			portals := make([]TargetPortal, 0, len(all))
			for _, p := range all {
				portals = append(portals, TargetPortal{Address: p.Portal.Address, Port: uint32(p.Portal.Socket)})
			}
			slices.SortFunc(portals, func(a, b TargetPortal) int {
				return cmp.Or(strings.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
			})
			return slices.Compact(portals), nil // one portal may be registered for several initiators
		})
}

func (o *op) allPortals() ([]win32.ISCSITargetPortalInfo, error) {
	all, err := o.initiator().portals()
	if err != nil {
		return nil, o.failISCSI(err, "listing the target portals")
	}
	return all, nil
}

// registeredPortals returns the registrations of one portal.
func (o *op) registeredPortals(p portal) ([]win32.ISCSITargetPortalInfo, error) {
	all, err := o.allPortals()
	return slices.DeleteFunc(all, func(r win32.ISCSITargetPortalInfo) bool { return !p.is(r.Portal) }), err
}
