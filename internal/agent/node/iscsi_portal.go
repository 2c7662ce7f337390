// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// AddTargetPortal registers a portal, also over reboots. A portal that is already registered is success.
func (s *ISCSI) AddTargetPortal(ctx context.Context,
	r *api.AddTargetPortalRequest) (*api.AddTargetPortalResponse, error) {
	return runOf(ctx, s.node, "AddTargetPortal", r.GetTargetPortal(), parsePortal, portal.object,
		func(o *op, p portal) (*api.AddTargetPortalResponse, error) {
			return &api.AddTargetPortalResponse{}, o.addPortal(p)
		})
}

func (o *op) addPortal(p portal) error {
	registered, err := o.registeredPortals(p)
	if err != nil || len(registered) > 0 {
		return err
	}
	err = o.callISCSI(func() error { return o.kernel.AddISCSISendTargetPortal(p.win32().Bytes()) },
		"registering the target portal %s", p)
	if err != nil && !errdefs.HasCode(err, win32.ISDSC_TARGET_PORTAL_ALREADY_EXISTS,
		win32.ISDSC_TARGET_ADDRESS_ALREADY_EXISTS) {
		o.undoAdd(p)
		return err
	}
	return nil
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
func (s *ISCSI) RemoveTargetPortal(ctx context.Context,
	r *api.RemoveTargetPortalRequest) (*api.RemoveTargetPortalResponse, error) {
	return runOf(ctx, s.node, "RemoveTargetPortal", r.GetTargetPortal(), parsePortal, portal.object,
		func(o *op, p portal) (*api.RemoveTargetPortalResponse, error) {
			registered, err := o.registeredPortals(p)
			if err == nil {
				err = o.forgetPortals(p, registered)
			}
			return &api.RemoveTargetPortalResponse{}, err
		})
}

// forgetPortals removes registrations of a portal.
func (o *op) forgetPortals(p portal, registered []win32.ISCSITargetPortalInfo) error {
	for _, r := range registered {
		err := o.callISCSI(func() error {
			return o.kernel.RemoveISCSISendTargetPortal(r.InitiatorName, r.InitiatorPort, r.Portal.Bytes())
		}, "forgetting the target portal %s", p)
		if err != nil && !errdefs.HasCode(err, win32.ISDSC_PORTAL_NOT_FOUND, win32.ISDSC_NOT_FOUND) {
			return err
		}
	}
	return nil
}

// DiscoverTargetPortal asks a registered portal for its targets and returns their names.
func (s *ISCSI) DiscoverTargetPortal(ctx context.Context,
	r *api.DiscoverTargetPortalRequest) (*api.DiscoverTargetPortalResponse, error) {
	return runOf(ctx, s.node, "DiscoverTargetPortal", r.GetTargetPortal(), parsePortal, portal.object,
		func(o *op, p portal) (*api.DiscoverTargetPortalResponse, error) {
			names, err := o.discover(p)
			return &api.DiscoverTargetPortalResponse{Iqns: names}, err
		})
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
		if err := o.callISCSI(func() error {
			return o.kernel.RefreshISCSISendTargetPortal(r.InitiatorName, r.InitiatorPort, r.Portal.Bytes())
		}, "asking the target portal %s for its targets", p); err != nil {
			return nil, err
		}
	}
	return o.targetsAt(p, all)
}

// targetsAt returns the names of known targets that answer at a portal or that it named, but of none that just went.
func (o *op) targetsAt(p portal, registered []win32.ISCSITargetPortalInfo) ([]string, error) {
	var all []string
	err := o.callISCSI(func() (err error) { all, err = o.kernel.ReportISCSITargets(); return err },
		"listing the iSCSI targets")
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, name := range all {
		portals, err := listISCSI(o, func() ([]byte, int, error) { return o.kernel.ReportISCSITargetPortals(name) },
			win32.ParseISCSITargetPortals, "asking where the target %s answers", name)
		if errdefs.HasCode(err, win32.ISDSC_TARGET_NOT_FOUND, win32.ISDSC_NOT_FOUND) {
			continue
		}
		if err != nil {
			return nil, err
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
	var mechanisms []string
	err := o.callISCSI(func() (err error) { mechanisms, err = o.kernel.ISCSIDiscoveryMechanisms(target); return err },
		"asking how the target %s was found", target)
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
func (s *ISCSI) ListTargetPortals(ctx context.Context,
	_ *api.ListTargetPortalsRequest) (*api.ListTargetPortalsResponse, error) {
	return run(ctx, s.node, operation.On("ListTargetPortals", operation.ISCSIInitiator),
		func(o *op) (*api.ListTargetPortalsResponse, error) {
			all, err := o.allPortals()
			if err != nil {
				return nil, err
			}
			portals := make([]portal, 0, len(all))
			for _, p := range all {
				portals = append(portals, portal{p.Portal.Address, p.Portal.Socket})
			}
			slices.SortFunc(portals, func(a, b portal) int {
				return cmp.Or(strings.Compare(a.address, b.address), cmp.Compare(a.port, b.port))
			})
			answer := &api.ListTargetPortalsResponse{}
			for _, p := range slices.Compact(portals) { // one portal may be registered for several initiators
				answer.TargetPortals = append(answer.TargetPortals,
					&api.TargetPortal{TargetAddress: p.address, TargetPort: uint32(p.port)})
			}
			return answer, nil
		})
}

func (o *op) allPortals() ([]win32.ISCSITargetPortalInfo, error) {
	return listISCSI(o, o.kernel.ReportISCSISendTargetPortals, win32.ParseISCSITargetPortalInfos,
		"listing the target portals")
}

// registeredPortals returns the registrations of one portal.
func (o *op) registeredPortals(p portal) ([]win32.ISCSITargetPortalInfo, error) {
	all, err := o.allPortals()
	return slices.DeleteFunc(all, func(r win32.ISCSITargetPortalInfo) bool { return !p.is(r.Portal) }), err
}
