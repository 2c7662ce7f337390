// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
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
	LUN          uint8       `yaml:"lun" json:"lun"`
	Image        string      `yaml:"-" json:"image"` // in detached while there is no session
	SizeBytes    Size        `yaml:"size" json:"sizeBytes"`
	SerialNumber string      `yaml:"serial" json:"serial"`
	Identifiers  Identifiers `yaml:"identifiers" json:"identifiers,omitempty"`
}

// disk returns the disk of a logical unit in a session. It arrives offline and read-only, according to Windows' SAN
// policy.
func (l ISCSILUNSpec) disk(target uint8) DiskSpec {
	return DiskSpec{
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
}

// iscsiKnown is a target and the portal at which it was found, or by which it was logged in to.
type iscsiKnown struct {
	Target string     `json:"target"`
	Portal portalName `json:"portal"`
}

// iscsiLost is a session without its disks.
type iscsiLost struct {
	iscsiKnown
	ID    uint64     `json:"id,omitempty"`
	Disks []lostDisk `json:"disks,omitempty"`
}

// lostDisk is what Windows remembers of a disk that may come back.
type lostDisk struct {
	Image    string `json:"image"`
	Offline  bool   `json:"offline,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

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

// check refuses a state that the rest of the code could not work with.
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

// reachable returns the portal of a name, unless it is cut off.
func (s iscsiState) reachable(name portalName) (ISCSIPortalSpec, bool) {
	i := s.portal(name)
	if i < 0 || s.outage(name) >= 0 {
		return ISCSIPortalSpec{}, false
	}
	return s.Storage[i], true
}

// portal returns the index of the portal of a name, -1 if there is none.
func (s iscsiState) portal(name portalName) int {
	return slices.IndexFunc(s.Storage, func(p ISCSIPortalSpec) bool { return p.At.same(name) })
}

// advertised returns the address at which the targets of a portal say that they answer.
func (s iscsiState) advertised(name portalName) portalName {
	if i := s.portal(name); i >= 0 && s.Storage[i].Advertises != "" {
		name.Address = s.Storage[i].Advertises
	}
	return name
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

// id returns the session's id for callers, of which the adapter's half is the same for all sessions.
func (s iscsiSession) id() win32.ISCSIUniqueID {
	return win32.ISCSIUniqueID{AdapterUnique: 0xFFFFC00012340010, AdapterSpecific: 0x4000013700000000 | s.ID}
}
