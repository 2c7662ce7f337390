// SPDX-License-Identifier: Apache-2.0

// Package iscsi is the storage systems that an emulated node can reach, and what its initiator service knows and has.
package iscsi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// Portal is a portal of a storage system that the node can reach.
type Portal struct {
	At         Endpoint `yaml:",inline" json:"at"`
	Advertises string   `json:"advertises,omitempty"` // the address that it names to initiators, as behind a NAT
	Targets    []Target `json:"targets"`              // its targets
}

// Endpoint is the address of a portal, in which case does not matter.
type Endpoint struct {
	Address string `json:"address"` // IP address or DNS name; required
	Port    uint16 `json:"port"`    // left out: 3260
}

// Same reports whether two are one.
func (p Endpoint) Same(o Endpoint) bool {
	return p.Port == o.Port && strings.EqualFold(p.Address, o.Address)
}

// Target is an iSCSI target of a portal.
type Target struct {
	Name         string `json:"name"`                   // qualified name in lower case; required
	Username     string `json:"username,omitempty"`     // for CHAP; left out, as `secret` must be then: none
	Secret       string `json:"secret,omitempty"`       // for CHAP: 12 to 16 bytes
	MutualSecret string `json:"mutualSecret,omitempty"` // by which the target proves itself; left out: it cannot
	// how many queries find a new session's disks without a number
	PendingQueries int   `json:"pendingQueries,omitempty"`
	LUNs           []LUN `json:"luns"` // logical units, blank at first
}

// LUN is a logical unit of a target. It is blank at first, and keeps its content from session to session.
type LUN struct {
	LUN          uint8               `json:"lun"`                   // left out: 0
	Image        string              `yaml:"-" json:"image"`        // in detached while there is no session
	SizeBytes    setting.Size        `yaml:"size" json:"sizeBytes"` // as of a disk; required
	SerialNumber string              `json:"serial"`                // as of a disk
	Identifiers  setting.Identifiers `json:"identifiers,omitempty"` // as of a disk
}

// Disk returns the disk of a logical unit in a session. At a new address it arrives offline and read-only, according to
// Windows' SAN policy.
func (l LUN) Disk(target uint8) bundle.Spec {
	return bundle.Spec{
		SizeBytes: l.SizeBytes, SerialNumber: l.SerialNumber, Identifiers: l.Identifiers, BusType: win32.BusTypeiScsi,
		Adapter: adapterNumber, Target: target, LUN: l.LUN, Offline: true, ReadOnly: true,
	}
}

// State is the storage system and the state of the node's initiator service.
type State struct {
	Storage    []Portal   `json:"storage"`    // never changed
	Registered []Endpoint `json:"registered"` // portals to ask for targets
	Known      []Known    `json:"known"`      // targets that discoveries found
	Sessions   []Session  `json:"sessions"`
	Persistent []Known    `json:"persistent"`             // logins to make again after a reboot
	LastID     uint64     `json:"lastID"`                 // of a session
	Mutual     []byte     `json:"mutualDigest,omitempty"` // a MutualDigest
	CutOff     []Endpoint `json:"cutOff,omitempty"`       // portals
	Places     []Place    `json:"places,omitempty"`
}

// Known is a target and the portal at which it was found, or by which it was logged in to.
type Known struct {
	Target string   `json:"target"`
	Portal Endpoint `json:"portal"`
}

// Of reports whether it is the target of a name.
func (k Known) Of(target string) bool { return strings.EqualFold(k.Target, target) }

// Place is what Windows remembers of the disk that was last at an address of the adapter, for the one that comes
// there next: with each device of the registry, not with the disk's identity.
//
//   - https://docs.ceph.com/en/latest/rbd/rbd-windows/ (Automatically mounted disks), which names iSCSI
//   - Google's sysprep.ps1 (GoogleCloudPlatform/compute-image-windows) deletes it: Device Parameters\Partmgr
//   - https://learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_san_policy: the policy is for newly discovered disks
type Place struct {
	Target   uint8 `json:"target"`
	LUN      uint8 `json:"lun"`
	Offline  bool  `json:"offline,omitempty"`
	ReadOnly bool  `json:"readOnly,omitempty"`
}

// Is reports whether it is that of an address.
func (p Place) Is(target, lun uint8) bool { return p.Target == target && p.LUN == lun }

// Session is a session with a target.
type Session struct {
	Known  Known    `json:"known"`
	ID     uint64   `json:"id"`
	Images []string `json:"images"` // of its disks; none while its portal is cut off
}

// Same reports whether two are one.
func (s Session) Same(o Session) bool { return s.ID == o.ID }

// NewState returns the state of a new node with a storage system.
func NewState(portals []Portal) (s State) {
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

// Check refuses a state that the rest of the code could not work with.
func (s State) Check() error {
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

// Remembered returns what Windows remembers of an address, nil if no disk was there.
func (s State) Remembered(target, lun uint8) *Place {
	return setting.Find(s.Places, func(p *Place) bool { return p.Is(target, lun) })
}

// Reachable returns the portal of a name, nil if it is cut off.
func (s State) Reachable(name Endpoint) *Portal {
	if slices.ContainsFunc(s.CutOff, name.Same) {
		return nil
	}
	return s.Portal(name)
}

// Portal returns the portal of a name, nil if there is none.
func (s State) Portal(name Endpoint) *Portal {
	return setting.Find(s.Storage, func(p *Portal) bool { return p.At.Same(name) })
}

// Advertised returns the address at which the targets of a portal say that they answer.
func (s State) Advertised(name Endpoint) Endpoint {
	if p := s.Portal(name); p != nil {
		name.Address = cmp.Or(p.Advertises, name.Address)
	}
	return name
}

// Target returns the target of a name, nil if there is none.
func (p *Portal) Target(name string) *Target {
	return setting.Find(p.Targets, func(t *Target) bool { return strings.EqualFold(t.Name, name) })
}

// Session returns the session of an id, nil if there is none.
func (s State) Session(id win32.ISCSIUniqueID) *Session {
	return setting.Find(s.Sessions, func(o *Session) bool { return o.UniqueID() == id })
}

// UniqueID returns the session's id for callers, of which the adapter's half is the same for all sessions.
func (s Session) UniqueID() win32.ISCSIUniqueID {
	return win32.ISCSIUniqueID{AdapterUnique: 0xFFFFC00012340010, AdapterSpecific: 0x4000013700000000 | s.ID}
}

// CheckPortals refuses a storage system that is not valid.
func CheckPortals(portals []Portal) error {
	for i, p := range portals {
		if p.At.Address == "" || strings.ContainsAny(p.At.Address, " \t") || p.At.Port == 0 {
			return strictyaml.At(fmt.Errorf("%q port %d is not an address", p.At.Address, p.At.Port), "iscsiPortals", i)
		}
		if strings.ContainsAny(p.Advertises, " \t") {
			return strictyaml.At(fmt.Errorf("%q is not an address", p.Advertises), "iscsiPortals", i)
		}
		if slices.ContainsFunc(portals[:i], func(o Portal) bool { return o.At.Same(p.At) }) {
			return strictyaml.At(fmt.Errorf("portal %s port %d appears twice", p.At.Address, p.At.Port), "iscsiPortals", i)
		}
		for j, t := range p.Targets {
			err := t.check()
			if slices.ContainsFunc(p.Targets[:j], func(o Target) bool { return o.Name == t.Name }) {
				err = fmt.Errorf("target %s appears twice", t.Name)
			}
			if err != nil {
				return strictyaml.At(err, "iscsiPortals", i, "targets", j)
			}
			for k, l := range t.LUNs {
				_, err := l.Disk(0).Record(nil, false)
				if slices.ContainsFunc(t.LUNs[:k], func(o LUN) bool { return o.LUN == l.LUN }) {
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

func (t *Target) check() error {
	short := func(secret string) bool { return len(secret) < MinCHAPSecret || len(secret) > MaxCHAPSecret }
	switch {
	case t.Name == "" || strings.ToLower(t.Name) != t.Name || strings.ContainsAny(t.Name, " \t"):
		return fmt.Errorf("the name %q must be in lower case and without blanks", t.Name)
	case (t.Username == "") != (t.Secret == ""):
		return errors.New("a username needs a secret, and a secret a username")
	case t.Secret == "" && t.MutualSecret != "":
		return errors.New("a mutual secret needs a secret")
	case t.Secret != "" && short(t.Secret) || t.MutualSecret != "" && short(t.MutualSecret):
		return fmt.Errorf("a secret must have %d to %d bytes", MinCHAPSecret, MaxCHAPSecret)
	case t.PendingQueries < 0 || t.PendingQueries > services.MostQueries:
		return fmt.Errorf("pendingQueries must be from 0 to %d", services.MostQueries)
	}
	return nil
}

// ParsePortal parses a caller's portal, and checks that a storage system answers there.
func (s State) ParsePortal(b []byte) (*Portal, error) {
	p, err := win32.ParseISCSITargetPortal(b)
	if err != nil || p.Address == "" || p.Socket == 0 {
		return nil, win32.ISDSC_INVALID_PARAMETER
	}
	name := Endpoint{p.Address, p.Socket}
	if portal := s.Reachable(name); portal != nil {
		return portal, nil
	}
	if _, err := netip.ParseAddr(p.Address); err != nil && s.Portal(name) == nil {
		return nil, win32.ISDSC_DNS_NAME_UNRESOLVED
	}
	return &Portal{At: name}, win32.ISDSC_CONNECTION_FAILED
}

// Win32 returns it as callers know it.
func (p Endpoint) Win32() win32.ISCSITargetPortal {
	return win32.ISCSITargetPortal{Address: p.Address, Socket: p.Port}
}

// RegisteredPortal parses a caller's portal, reachable or not, and checks that it is registered for the initiator.
func (s State) RegisteredPortal(initiator string, port uint32, b []byte) (Endpoint, error) {
	p, err := win32.ParseISCSITargetPortal(b)
	name := Endpoint{p.Address, p.Socket}
	if err != nil || initiator != "" || port != win32.ISCSI_ANY_INITIATOR_PORT ||
		!slices.ContainsFunc(s.Registered, name.Same) {
		return name, win32.ISDSC_PORTAL_NOT_FOUND
	}
	return name, nil
}

// Learn keeps a portal's answer to the question for its targets.
func (s *State) Learn(p *Portal) {
	s.Forget(p.At)
	for _, t := range p.Targets {
		s.Known = append(s.Known, Known{t.Name, p.At})
	}
}

// Found returns where discoveries found a target, ISDSC_TARGET_NOT_FOUND if nowhere.
func (s State) Found(target string) (found []Known, err error) {
	found = slices.DeleteFunc(slices.Clone(s.Known), func(k Known) bool { return !k.Of(target) })
	if len(found) == 0 {
		return nil, win32.ISDSC_TARGET_NOT_FOUND
	}
	return found, nil
}

// Forget drops the targets that were discovered at a portal.
func (s *State) Forget(p Endpoint) {
	s.Known = slices.DeleteFunc(s.Known, func(k Known) bool { return k.Portal.Same(p) })
}

// The lengths of CHAP secrets that Windows accepts without IPsec, in bytes.
const (
	MinCHAPSecret = 12
	MaxCHAPSecret = 16
)

// MutualDigest returns what is kept of the secret by which targets prove themselves.
func MutualDigest(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}

// The node's name as an initiator, and the name of the adapter that makes its sessions.
const (
	initiatorName = "iqn.1991-05.com.microsoft:emulated"
	AdapterName   = `ROOT\ISCSIPRT\0000_0`
)

// Listed returns the session as the initiator service lists it.
func (s Session) Listed(connected bool) win32.ISCSISession {
	return win32.ISCSISession{ID: s.UniqueID(), TargetNodeName: s.Known.Target, TargetName: s.Known.Target,
		Connected: connected}
}

// Authenticate is the login phase between the initiator and the target. A target without authentication also accepts an
// initiator that offers CHAP.
func (s State) Authenticate(t *Target, login kernel.ISCSILogin) error {
	given := func(bit uint32) bool { return login.InformationSpecified&bit != 0 }
	method, user, secret := uint32(deviceside.ISCSI_NO_AUTH_TYPE), initiatorName, []byte(nil)
	if given(win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE) {
		method = login.AuthType
	}
	if given(win32.ISCSI_LOGIN_OPTIONS_USERNAME) {
		user = login.Username
	}
	if given(win32.ISCSI_LOGIN_OPTIONS_PASSWORD) {
		secret = login.Password
	}
	switch {
	case method != deviceside.ISCSI_NO_AUTH_TYPE && (len(secret) < MinCHAPSecret || len(secret) > MaxCHAPSecret):
		return win32.ISDSC_INVALID_TARGET_CHAP_SECRET
	case t.Secret == "":
		return nil
	case method == deviceside.ISCSI_NO_AUTH_TYPE || user != t.Username || string(secret) != t.Secret:
		return win32.ISDSC_AUTHENTICATION_FAILURE
	case method == deviceside.ISCSI_CHAP_AUTH_TYPE:
		return nil
	case s.Mutual == nil:
		return win32.ISDSC_NO_AUTH_INFO_AVAILABLE
	case t.MutualSecret == "" || !bytes.Equal(s.Mutual, MutualDigest([]byte(t.MutualSecret))):
		return win32.ISDSC_AUTHENTICATION_FAILURE
	}
	return nil
}

// adapterNumber is that of the adapter that the disks of all sessions are on; each session is another target of it.
const adapterNumber = 2

// DefaultPort is the port of a portal without one (RFC 7143).
const DefaultPort = 3260

// FreeTarget returns the lowest free target number of the adapter.
func FreeTarget(disks []bundle.Record) (target uint8) {
	for target < 255 && slices.ContainsFunc(disks,
		func(d bundle.Record) bool { return d.Adapter == adapterNumber && d.Target == target }) {
		target++
	}
	return target
}

// HasLUN reports whether an image is that of a logical unit in a session.
func (s State) HasLUN(image string) bool {
	return slices.ContainsFunc(s.Sessions, func(o Session) bool { return slices.Contains(o.Images, image) })
}
