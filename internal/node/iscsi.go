// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// ISCSI is the iscsi group: it connects the node to iSCSI targets, whose logical units then are disks. It works through
// the Windows service MSiSCSI, which it does not start: while that does not run, all methods fail with
// FailedPrecondition. Windows keeps what it does, portals over reboots too, so nothing is remembered here.
//
// Targets are named by iSCSI names in any case. Secrets that are passed in are wiped when they are not needed any more,
// also on failure.
type ISCSI struct {
	calls *calls
	seal  seal

	mu     sync.Mutex
	logins map[targetName]time.Time // since when the disks of a new session are waited for
}

func newISCSI(c *calls) *ISCSI {
	return &ISCSI{calls: c, seal: newSeal(), logins: make(map[targetName]time.Time)}
}

// How long to wait for the initiator service.
const (
	arrivalTime = 10 * time.Second // from a login until its disks have come
	sessionTime = 10 * time.Second // until a busy session is not
	deviceTime  = 5 * time.Second  // until Windows has looked at the disks of a session, or nobody uses them any more
)

func targetLock(name targetName) string { return "iscsi target " + string(name) }

func portalLock(p portal) string { return "iscsi portal " + p.key() }

// AddTargetPortal registers a portal, which stays over reboots. One that is registered is success.
func (s *ISCSI) AddTargetPortal(ctx context.Context, at TargetPortal) error {
	return s.atPortal(ctx, "AddTargetPortal", at, func(o *op, p portal) error {
		registered, err := o.registeredPortals(p)
		if err != nil || len(registered) > 0 {
			return err
		}
		err = o.unlessDone(o.k.AddISCSISendTargetPortal(p.win32().Bytes()))
		if err != nil && !hasCode(err, win32.ISDSC_TARGET_PORTAL_ALREADY_EXISTS, win32.ISDSC_TARGET_ADDRESS_ALREADY_EXISTS) {
			o.undoAdd(p)
			return o.failISCSI(err, "registering the target portal %s", p)
		}
		return nil
	})
}

// undoAdd forgets a portal that was not registered before. AddIScsiSendTargetPortalW asks the portal for its targets, and
// has been seen to leave it registered when it cannot be reached or wants CHAP: the next call would find it and succeed.
func (o *op) undoAdd(p portal) {
	left, err := o.registeredPortals(p)
	if err == nil {
		err = o.forgetPortals(p, left)
	}
	if err != nil {
		klog.FromContext(o.ctx).Error(err, "A target portal may stay registered though registering it failed", "portal", p.String())
	}
}

// RemoveTargetPortal forgets a portal. One that is not registered is success; sessions stay.
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
		err := o.unlessDone(o.k.RemoveISCSISendTargetPortal(r.InitiatorName, r.InitiatorPort, r.Portal.Bytes()))
		if err != nil && !hasCode(err, win32.ISDSC_PORTAL_NOT_FOUND, win32.ISDSC_NOT_FOUND) {
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
	j := job{what: fmt.Sprintf("%s(%s)", verb, p), key: verb + " " + p.key(), locks: []string{portalLock(p)}}
	_, err = change(ctx, s.calls, j, func(o *op) (done, error) { return done{}, f(o, p) })
	return err
}

// DiscoverTargetPortal asks a registered portal for its targets, and gives their names.
func (s *ISCSI) DiscoverTargetPortal(ctx context.Context, at TargetPortal) ([]string, error) {
	p, err := parsePortal(at)
	if err != nil {
		return nil, err
	}
	// Fresh: a discovery that began earlier may have missed the target that the caller waits for.
	j := job{what: fmt.Sprintf("DiscoverTargetPortal(%s)", p), key: "DiscoverTargetPortal " + p.key(), locks: []string{portalLock(p)}, fresh: true}
	return change(ctx, s.calls, j, func(o *op) ([]string, error) {
		registered, err := o.registeredPortals(p)
		if err != nil {
			return nil, err
		}
		if len(registered) == 0 {
			return nil, errorf(NotFound, "PORTAL_NOT_FOUND", "the target portal %s is not registered on this node; register it with AddTargetPortal", p)
		}
		for _, r := range registered {
			err := o.unlessDone(o.k.RefreshISCSISendTargetPortal(r.InitiatorName, r.InitiatorPort, r.Portal.Bytes()))
			if err != nil {
				return nil, o.failISCSI(err, "asking the target portal %s for its targets", p)
			}
		}
		return o.targetsAt(p)
	})
}

// targetsAt are the names of the known targets that answer at a portal. One that goes meanwhile is left out.
func (o *op) targetsAt(p portal) ([]string, error) {
	var all []string
	err := o.whileTooSmall(func() (err error) {
		all, err = o.k.ReportISCSITargets()
		return o.unlessDone(err)
	})
	if err != nil {
		return nil, o.failISCSI(err, "listing the iSCSI targets")
	}
	names := []string{}
	for _, name := range all {
		b, count, err := o.k.ReportISCSITargetPortals(name)
		if hasCode(err, win32.ISDSC_TARGET_NOT_FOUND, win32.ISDSC_NOT_FOUND) {
			continue
		}
		if err := o.unlessDone(err); err != nil {
			return nil, o.failISCSI(err, "asking where the target %s answers", name)
		}
		portals, err := win32.ParseISCSITargetPortals(b, count)
		if err != nil {
			return nil, fail(err, "asking where the target %s answers", name)
		}
		if slices.ContainsFunc(portals, p.is) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// ListTargetPortals lists the portals that are registered, whoever registered them.
func (s *ISCSI) ListTargetPortals(ctx context.Context) ([]TargetPortal, error) {
	return read(ctx, s.calls, "ListTargetPortals", func(o *op) ([]TargetPortal, error) {
		all, err := o.allPortals()
		if err != nil {
			return nil, err
		}
		portals := make([]TargetPortal, 0, len(all))
		for _, p := range all {
			portals = append(portals, TargetPortal{Address: p.Portal.Address, Port: uint32(p.Portal.Socket)})
		}
		slices.SortFunc(portals, func(a, b TargetPortal) int {
			return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
		})
		return slices.Compact(portals), nil // one portal may be registered for several initiators
	})
}

func (o *op) allPortals() ([]win32.ISCSITargetPortalInfo, error) {
	b, count, err := o.k.ReportISCSISendTargetPortals()
	if err := o.unlessDone(err); err != nil {
		return nil, o.failISCSI(err, "listing the target portals")
	}
	all, err := win32.ParseISCSITargetPortalInfos(b, count)
	if err != nil {
		return nil, fail(err, "listing the target portals")
	}
	return all, nil
}

// registeredPortals are the registrations of one portal.
func (o *op) registeredPortals(p portal) ([]win32.ISCSITargetPortalInfo, error) {
	all, err := o.allPortals()
	return slices.DeleteFunc(all, func(r win32.ISCSITargetPortalInfo) bool { return !p.is(r.Portal) }), err
}
