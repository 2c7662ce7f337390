// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// ISCSIPortalSpec is an address at which a storage system answers the node.
type ISCSIPortalSpec struct {
	At      portalName        `yaml:",inline" json:"at"`
	Targets []ISCSITargetSpec `yaml:"targets" json:"targets"`
}

// portalName is where a portal is: two are the same whatever the case of the address.
type portalName struct {
	Address string `yaml:"address" json:"address"` // IP address or DNS name
	Port    uint16 `yaml:"port" json:"port"`
}

func (p portalName) same(o portalName) bool {
	return p.Port == o.Port && strings.EqualFold(p.Address, o.Address)
}

// ISCSITargetSpec is an iSCSI target of a portal.
type ISCSITargetSpec struct {
	Name         string `yaml:"name" json:"name"`                   // lower case, as Windows has it
	Username     string `yaml:"username" json:"username,omitempty"` // of CHAP; both empty: the target wants no authentication
	Secret       string `yaml:"secret" json:"secret,omitempty"`
	MutualSecret string `yaml:"mutualSecret" json:"mutualSecret,omitempty"` // by which the target proves itself; empty: it cannot

	// PendingQueries is how many queries for a new session's devices find them without a disk number yet.
	PendingQueries int `yaml:"pendingQueries" json:"pendingQueries,omitempty"`

	LUNs []ISCSILUNSpec `yaml:"luns" json:"luns"`
}

// ISCSILUNSpec is a logical unit of a target. It is blank at first, and keeps its content from session to session.
type ISCSILUNSpec struct {
	LUN          uint8       `yaml:"lun" json:"lun"`
	Image        string      `yaml:"-" json:"image"` // among the detached ones while there is no session
	SizeBytes    Size        `yaml:"size" json:"sizeBytes"`
	SerialNumber string      `yaml:"serial" json:"serial"`
	Identifiers  Identifiers `yaml:"identifiers" json:"identifiers,omitempty"`
}

// disk is the disk that a logical unit is in a session: it comes as Windows' SAN policy has disks come, offline and
// read-only.
func (l ISCSILUNSpec) disk(target uint8) DiskSpec {
	return DiskSpec{
		SizeBytes: l.SizeBytes, SerialNumber: l.SerialNumber, Identifiers: l.Identifiers, BusType: win32.BusTypeiScsi,
		Adapter: iscsiPort, Target: target, LUN: l.LUN, Offline: true, ReadOnly: true,
	}
}

// defaultISCSI is the storage system of DefaultScenario.
func defaultISCSI() []ISCSIPortalSpec {
	const user, secret, queries = "csi-user", "chap-secret-123", 2
	lun := func(last string) []ISCSILUNSpec {
		return []ISCSILUNSpec{{SizeBytes: 5 << 30, SerialNumber: "EMU-ISCSI-" + last, Identifiers: []win32.StorageIdentifier{{
			CodeSet: win32.StorageIdCodeSetBinary, Type: win32.StorageIdTypeFCPHName, Association: win32.StorageIdAssocDevice,
			Identifier: []byte("\x60\x02\x24\x80EMU-LUN-" + last),
		}}}}
	}
	return []ISCSIPortalSpec{{At: portalName{"192.0.2.10", DefaultISCSIPort}, Targets: []ISCSITargetSpec{
		{Name: "iqn.2026-01.emulated:open", LUNs: lun("0001"), PendingQueries: queries},
		{Name: "iqn.2026-01.emulated:chap", Username: user, Secret: secret, LUNs: lun("0002"), PendingQueries: queries},
		{
			Name: "iqn.2026-01.emulated:mutual", Username: user, Secret: secret, MutualSecret: "mutual-secret1", LUNs: lun("0003"),
			PendingQueries: queries,
		},
	}}}
}

// iscsiState is the storage system and what the node's initiator service keeps.
type iscsiState struct {
	Storage    []ISCSIPortalSpec `json:"storage"`    // never changed
	Registered []portalName      `json:"registered"` // portals that are asked for targets
	Known      []iscsiKnown      `json:"known"`      // targets that discoveries found
	Sessions   []iscsiSession    `json:"sessions"`
	Persistent []iscsiKnown      `json:"persistent"` // logins that are made again after a reboot
	LastID     uint64            `json:"lastID"`     // of a session
	Mutual     *saltedSecret     `json:"mutual,omitempty"`
	Outages    []iscsiOutage     `json:"outages,omitempty"` // portals that are cut off
	Lost       []iscsiKnown      `json:"lost,omitempty"`    // sessions that an outage ended, to be made again after it
}

// iscsiKnown is a target and the portal by which it was found, or logged in to.
type iscsiKnown struct {
	Target string     `json:"target"`
	Portal portalName `json:"portal"`
}

type iscsiSession struct {
	Known  iscsiKnown `json:"known"`
	ID     uint64     `json:"id"`
	Images []string   `json:"images"` // of its disks
}

// newISCSIState makes the storage system of a new node.
func newISCSIState(portals []ISCSIPortalSpec) (s iscsiState) {
	for _, p := range portals {
		p.Targets = slices.Clone(p.Targets)
		for i := range p.Targets {
			t := &p.Targets[i]
			t.LUNs = slices.Clone(t.LUNs)
			for j := range t.LUNs {
				t.LUNs[j].Image = newImageName()
			}
		}
		s.Storage = append(s.Storage, p)
	}
	return s
}

func (s iscsiState) clone() iscsiState {
	s.Registered = slices.Clone(s.Registered)
	s.Known = slices.Clone(s.Known)
	s.Sessions = slices.Clone(s.Sessions)
	s.Persistent = slices.Clone(s.Persistent)
	s.Outages = slices.Clone(s.Outages)
	s.Lost = slices.Clone(s.Lost)
	return s
}

// check refuses what the rest could not work with.
func (s iscsiState) check() error {
	images := map[string]bool{}
	for _, p := range s.Storage {
		for _, t := range p.Targets {
			for _, l := range t.LUNs {
				if !isImageName(l.Image) || images[l.Image] {
					return fmt.Errorf("a logical unit of target %s has the image name %q", t.Name, l.Image)
				}
				images[l.Image] = true
			}
		}
	}
	return nil
}

// reachable gives the portal of the storage system, unless it is cut off.
func (s iscsiState) reachable(name portalName) (ISCSIPortalSpec, bool) {
	i := s.portal(name)
	if i < 0 || s.outage(name) >= 0 {
		return ISCSIPortalSpec{}, false
	}
	return s.Storage[i], true
}

// portal is the index of the portal of a name, -1 when there is none.
func (s iscsiState) portal(name portalName) int {
	return slices.IndexFunc(s.Storage, func(p ISCSIPortalSpec) bool { return p.At.same(name) })
}

func (p ISCSIPortalSpec) target(name string) (ISCSITargetSpec, bool) {
	i := slices.IndexFunc(p.Targets, func(t ISCSITargetSpec) bool { return strings.EqualFold(t.Name, name) })
	if i < 0 {
		return ISCSITargetSpec{}, false
	}
	return p.Targets[i], true
}

func (s iscsiState) session(id win32.ISCSIUniqueID) (iscsiSession, bool) {
	i := slices.IndexFunc(s.Sessions, func(s iscsiSession) bool { return s.id() == id })
	if i < 0 {
		return iscsiSession{}, false
	}
	return s.Sessions[i], true
}

// id is the session's id as the adapter has it: the first half is the same for all.
func (s iscsiSession) id() win32.ISCSIUniqueID {
	return win32.ISCSIUniqueID{AdapterUnique: 0xFFFFC00012340010, AdapterSpecific: 0x4000013700000000 | s.ID}
}
