// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// ISCSIPortalSpec is a portal of a storage system that the node can reach.
type ISCSIPortalSpec struct {
	At portalName `yaml:",inline" json:"at"`
	// the address that it names to initiators; empty: its own
	Advertises string            `yaml:"advertises" json:"advertises,omitempty"`
	Targets    []ISCSITargetSpec `yaml:"targets" json:"targets"`
}

// portalName is the address of a portal, in which case does not matter.
type portalName struct {
	Address string `yaml:"address" json:"address"` // IP address or DNS name
	Port    uint16 `yaml:"port" json:"port"`
}

func (p portalName) same(o portalName) bool {
	return p.Port == o.Port && strings.EqualFold(p.Address, o.Address)
}

// ISCSITargetSpec is an iSCSI target of a portal.
type ISCSITargetSpec struct {
	Name     string `yaml:"name" json:"name"`                   // in lower case, as on Windows
	Username string `yaml:"username" json:"username,omitempty"` // of CHAP; both empty: no authentication
	Secret   string `yaml:"secret" json:"secret,omitempty"`
	// with which the target authenticates itself; empty: it cannot
	MutualSecret string `yaml:"mutualSecret" json:"mutualSecret,omitempty"`

	// PendingQueries is how many queries find a new session's devices without a disk number.
	PendingQueries int `yaml:"pendingQueries" json:"pendingQueries,omitempty"`

	LUNs []ISCSILUNSpec `yaml:"luns" json:"luns"`
}

// ISCSILUNSpec is a logical unit of a target. It is blank at first, and keeps its content from session to session.
type ISCSILUNSpec struct {
	LUN          uint8               `yaml:"lun" json:"lun"`
	Image        string              `yaml:"-" json:"image"` // in detached while there is no session
	SizeBytes    setting.Size        `yaml:"size" json:"sizeBytes"`
	SerialNumber string              `yaml:"serial" json:"serial"`
	Identifiers  setting.Identifiers `yaml:"identifiers" json:"identifiers,omitempty"`
}

// disk returns the disk of a logical unit in a session. At a new address it arrives offline and read-only, according to
// Windows' SAN policy.
func (l ISCSILUNSpec) disk(target uint8) bundle.Spec {
	return bundle.Spec{
		SizeBytes: l.SizeBytes, SerialNumber: l.SerialNumber, Identifiers: l.Identifiers, BusType: win32.BusTypeiScsi,
		Adapter: iscsiPort, Target: target, LUN: l.LUN, Offline: true, ReadOnly: true,
	}
}

// iscsiState is the storage system and the state of the node's initiator service.
type iscsiState struct {
	Storage    []ISCSIPortalSpec `json:"storage"`    // never changed
	Registered []portalName      `json:"registered"` // portals to ask for targets
	Known      []iscsiKnown      `json:"known"`      // targets that discoveries found
	Sessions   []iscsiSession    `json:"sessions"`
	Persistent []iscsiKnown      `json:"persistent"` // logins to make again after a reboot
	LastID     uint64            `json:"lastID"`     // of a session
	Mutual     *saltedSecret     `json:"mutual,omitempty"`
	Outages    []iscsiOutage     `json:"outages,omitempty"` // portals that are cut off
	Lost       []iscsiLost       `json:"lost,omitempty"`    // sessions whose disks an outage took, to make again after it
	Places     []iscsiPlace      `json:"places,omitempty"`
}

// iscsiKnown is a target and the portal at which it was found, or by which it was logged in to.
type iscsiKnown struct {
	Target string     `json:"target"`
	Portal portalName `json:"portal"`
}

func (k iscsiKnown) of(target string) bool { return strings.EqualFold(k.Target, target) }

// iscsiLost is a session without its disks.
type iscsiLost struct {
	iscsiKnown
	ID uint64 `json:"id,omitempty"`
}

// iscsiPlace is what Windows remembers of the disk that was last at an address of the adapter, for the one that comes
// there next: with each device of the registry, not with the disk's identity.
//
//   - https://docs.ceph.com/en/latest/rbd/rbd-windows/ (Automatically mounted disks), which names iSCSI
//   - Google's sysprep.ps1 (GoogleCloudPlatform/compute-image-windows) deletes it: Device Parameters\Partmgr
//   - https://learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_san_policy: the policy is for newly discovered disks
type iscsiPlace struct {
	Target   uint8 `json:"target"`
	LUN      uint8 `json:"lun"`
	Offline  bool  `json:"offline,omitempty"`
	ReadOnly bool  `json:"readOnly,omitempty"`
}

func (p iscsiPlace) is(target, lun uint8) bool { return p.Target == target && p.LUN == lun }

type iscsiSession struct {
	Known  iscsiKnown `json:"known"`
	ID     uint64     `json:"id"`
	Images []string   `json:"images"` // of its disks
}

// newISCSIState returns the state of a new node with a storage system.
func newISCSIState(portals []ISCSIPortalSpec) (s iscsiState) {
	for _, p := range portals {
		p.Targets = slices.Clone(p.Targets)
		for i := range p.Targets {
			t := &p.Targets[i]
			t.LUNs = slices.Clone(t.LUNs)
			for j := range t.LUNs {
				t.LUNs[j].Image = hostfiles.NewName()
			}
		}
		s.Storage = append(s.Storage, p)
	}
	return s
}

// check refuses a state that the rest of the code could not work with.
func (s iscsiState) check() error {
	images := map[string]bool{}
	for _, p := range s.Storage {
		for _, t := range p.Targets {
			for _, l := range t.LUNs {
				if !hostfiles.IsName(l.Image) || images[l.Image] {
					return fmt.Errorf("a logical unit of target %s has the image name %q", t.Name, l.Image)
				}
				images[l.Image] = true
			}
		}
	}
	return nil
}

// remembered returns what Windows remembers of an address, nil if no disk was there.
func (s iscsiState) remembered(target, lun uint8) *iscsiPlace {
	return setting.Find(s.Places, func(p *iscsiPlace) bool { return p.is(target, lun) })
}

// reachable returns the portal of a name, nil if it is cut off.
func (s iscsiState) reachable(name portalName) *ISCSIPortalSpec {
	if s.outage(name) != nil {
		return nil
	}
	return s.portal(name)
}

// portal returns the portal of a name, nil if there is none.
func (s iscsiState) portal(name portalName) *ISCSIPortalSpec {
	return setting.Find(s.Storage, func(p *ISCSIPortalSpec) bool { return p.At.same(name) })
}

// advertised returns the address at which the targets of a portal say that they answer.
func (s iscsiState) advertised(name portalName) portalName {
	if p := s.portal(name); p != nil {
		name.Address = cmp.Or(p.Advertises, name.Address)
	}
	return name
}

func (p *ISCSIPortalSpec) target(name string) *ISCSITargetSpec {
	return setting.Find(p.Targets, func(t *ISCSITargetSpec) bool { return strings.EqualFold(t.Name, name) })
}

func (s iscsiState) session(id win32.ISCSIUniqueID) *iscsiSession {
	return setting.Find(s.Sessions, func(o *iscsiSession) bool { return o.id() == id })
}

// id returns the session's id for callers, of which the adapter's half is the same for all sessions.
func (s iscsiSession) id() win32.ISCSIUniqueID {
	return win32.ISCSIUniqueID{AdapterUnique: 0xFFFFC00012340010, AdapterSpecific: 0x4000013700000000 | s.ID}
}

// checkPortals refuses a storage system that is not valid.
func checkPortals(portals []ISCSIPortalSpec) error {
	for i, p := range portals {
		if p.At.Address == "" || strings.ContainsAny(p.At.Address, " \t") || p.At.Port == 0 {
			return strictyaml.At(fmt.Errorf("%q port %d is not an address", p.At.Address, p.At.Port), "iscsiPortals", i)
		}
		if strings.ContainsAny(p.Advertises, " \t") {
			return strictyaml.At(fmt.Errorf("%q is not an address", p.Advertises), "iscsiPortals", i)
		}
		if slices.ContainsFunc(portals[:i], func(o ISCSIPortalSpec) bool { return o.At.same(p.At) }) {
			return strictyaml.At(fmt.Errorf("portal %s port %d appears twice", p.At.Address, p.At.Port), "iscsiPortals", i)
		}
		for j, t := range p.Targets {
			err := t.check()
			if slices.ContainsFunc(p.Targets[:j], func(o ISCSITargetSpec) bool { return o.Name == t.Name }) {
				err = fmt.Errorf("target %s appears twice", t.Name)
			}
			if err != nil {
				return strictyaml.At(err, "iscsiPortals", i, "targets", j)
			}
			for k, l := range t.LUNs {
				_, err := l.disk(0).Record(nil, false)
				if slices.ContainsFunc(t.LUNs[:k], func(o ISCSILUNSpec) bool { return o.LUN == l.LUN }) {
					err = fmt.Errorf("LUN %d appears twice", l.LUN)
				}
				if err != nil {
					return strictyaml.At(err, "iscsiPortals", i, "targets", j, "luns", k)
				}
			}
		}
	}
	return nil
}

func (t *ISCSITargetSpec) check() error {
	short := func(secret string) bool { return len(secret) < minCHAPSecret || len(secret) > maxCHAPSecret }
	switch {
	case t.Name == "" || strings.ToLower(t.Name) != t.Name || strings.ContainsAny(t.Name, " \t"):
		return fmt.Errorf("the name %q must be in lower case and without blanks", t.Name)
	case (t.Username == "") != (t.Secret == ""):
		return errors.New("a username needs a secret, and a secret a username")
	case t.Secret == "" && t.MutualSecret != "":
		return errors.New("a mutual secret needs a secret")
	case t.Secret != "" && short(t.Secret) || t.MutualSecret != "" && short(t.MutualSecret):
		return fmt.Errorf("a secret must have %d to %d bytes", minCHAPSecret, maxCHAPSecret)
	case t.PendingQueries < 0 || t.PendingQueries > services.MostQueries:
		return fmt.Errorf("pendingQueries must be from 0 to %d", services.MostQueries)
	}
	return nil
}
