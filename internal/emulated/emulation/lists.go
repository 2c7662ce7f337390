// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// disk is a disk in a document. As in scenario files but for the number, which names one that is there, and:
type disk struct {
	Number uint32      `yaml:"number"`
	Image  string      `yaml:"image"`  // bundle.Spec.ImagePath
	Bundle string      `yaml:"bundle"` // bundle.Spec.BundlePath
	Spec   bundle.Spec `yaml:",inline"`
}

// service is a service in a document, as in scenario files but for its state now.
type service struct {
	Spec  services.Spec `yaml:",inline"`
	State serviceState  `yaml:"state"`
}

// serviceState is a state as SERVICE_STATUS_PROCESS numbers it.
type serviceState uint32

// states returns the words of the states.
func states() []string {
	return []string{win32.SERVICE_STOPPED: "stopped", "start-pending", "stop-pending", "running", "continue-pending",
		"pause-pending", "paused"}
}

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (s *serviceState) UnmarshalYAML(decode func(any) error) error {
	return setting.DecodeWord(s, decode, states()...)
}

// portal is an iSCSI portal in a document, as in scenario files but for whether the node reaches it now.
type portal struct {
	iscsi.Portal `yaml:",inline"`
	Connected    bool `yaml:"connected"`
}

// smbSession is the session of the node with a file server.
type smbSession struct {
	Server string `yaml:"server"`
}

// iscsiSession is the session of the node with a target.
type iscsiSession struct {
	Target string `yaml:"target"`
}

// An element is one of a list.
type element struct {
	at     int            // in its list of the document
	given  map[string]any // its keys
	answer map[string]any // its name, and what the step adds
}

func (e element) has(key string) bool { return e.given[key] != nil }

// A step does what a verb asks for with an element. It takes these keys besides the element's name; nil: it checks them
// itself.
type step struct {
	keys []string
	do   func(e element) error
}

// A list has elements that are named by a key. A verb without a step does not take it.
type list struct {
	key                 string
	add, change, remove *step
}

func (d *document) lists() map[string]list {
	n, nameAlone := d.node, []string{}
	return map[string]list{
		"disks": {"number", &step{nil, d.addDisk},
			&step{[]string{"size", "offline", "readOnly"}, d.changeDisk},
			&step{nameAlone, d.removeDisk}},
		"services": {"name", nil, &step{[]string{"state", "start", "pendingQueries"}, d.changeService}, nil},
		"switches": {"", nil, &step{nil, d.changeSwitches}, nil},
		"smbUsers": {"name",
			&step{nil, func(e element) error { return n.AddSMBUser(d.SMBUsers[e.at]) }},
			&step{[]string{"password"}, func(e element) error {
				return n.SetSMBPassword(d.SMBUsers[e.at].Name, d.SMBUsers[e.at].Password)
			}},
			&step{nameAlone, func(e element) error { return n.RemoveSMBUser(d.SMBUsers[e.at].Name) }}},
		"smbServers": {"name",
			&step{[]string{"shares"}, d.addShares},
			&step{[]string{"stopped"}, func(e element) error {
				return n.SetSMBServerRunning(d.SMBServers[e.at].Name, !d.SMBServers[e.at].Stopped)
			}},
			&step{[]string{"shares"}, d.removeShares}},
		"smbSessions": {"server", nil, nil,
			&step{nameAlone, func(e element) error { return n.DropSMBSessions(d.SMBSessions[e.at].Server) }}},
		"iscsiPortals": {"address", nil, &step{[]string{"port", "connected"}, d.changePortal}, nil},
		"iscsiSessions": {"target", nil, nil,
			&step{nameAlone, func(e element) error { return n.DropISCSISession(d.ISCSISessions[e.at].Target) }}},
	}
}

// addDisk attaches a disk.
func (d *document) addDisk(e element) (err error) {
	for _, key := range []string{"number", "letter", "boot"} {
		if e.has(key) {
			return invalid("disks[%d].%s: a disk that is added has none", e.at, key)
		}
	}
	spec := d.Disks[e.at].Spec
	spec.LUNAuto = !e.has("lun")
	spec.ImagePath, spec.BundlePath = d.Disks[e.at].Image, d.Disks[e.at].Bundle
	e.answer["number"], err = d.node.AttachDisk(spec)
	return err
}

// changeDisk grows a disk, or changes its attributes.
func (d *document) changeDisk(e element) (err error) {
	disk := d.Disks[e.at]
	if e.has("size") {
		err = d.node.GrowDisk(disk.Number, int64(disk.Spec.SizeBytes))
	}
	if err == nil && e.has("offline") {
		err = d.node.SetDiskOnline(disk.Number, !disk.Spec.Offline)
	}
	if err == nil && e.has("readOnly") {
		err = d.node.SetDiskReadOnly(disk.Number, disk.Spec.ReadOnly)
	}
	return err
}

// removeDisk detaches a disk.
func (d *document) removeDisk(e element) (err error) {
	e.answer["image"], err = d.node.DetachDisk(d.Disks[e.at].Number)
	return err
}

func (d *document) changeService(e element) error {
	given := d.Services[e.at]
	return d.node.SetService(given.Spec.Name, func(s *services.Service) {
		if e.has("state") {
			s.State = win32.ServiceState(given.State)
		}
		if e.has("start") {
			s.StartType = given.Spec.StartType
		}
		if e.has("pendingQueries") {
			s.PendingQueries = given.Spec.PendingQueries
		}
	})
}

// changeSwitches sets the switches that a document has.
func (d *document) changeSwitches(e element) error {
	var errs []error
	for _, s := range d.Switches.List() {
		if e.has(s.Name) {
			errs = append(errs, d.node.SetSwitch(s.Name, s.Value))
		}
	}
	return errors.Join(errs...)
}

// shares does something with each share of a server in a document.
func (d *document) shares(e element, keys []string, do func(server string, s smb.Share) error) error {
	given := elementsOf(e.given["shares"])
	for i, share := range d.SMBServers[e.at].Shares {
		if err := (&step{keys: keys}).check("name", given[i]); err != nil {
			return strictyaml.At(err, "shares", i)
		}
		if err := do(d.SMBServers[e.at].Name, share); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) addShares(e element) error {
	return d.shares(e, []string{"users", "size", "quota"}, func(server string, s smb.Share) error {
		if err := d.node.AddSMBShare(server, s.Name, s.Users); err != nil {
			return err
		}
		return d.node.SetSMBShareSpace(server, s.Name, int64(s.SizeBytes), int64(s.QuotaBytes))
	})
}

func (d *document) removeShares(e element) error {
	return d.shares(e, []string{}, func(server string, s smb.Share) error {
		return d.node.RemoveSMBShare(server, s.Name)
	})
}

func (d *document) changePortal(e element) error {
	of := d.ISCSIPortals[e.at]
	return d.node.SetISCSIPortal(of.At.Address, cmp.Or(of.At.Port, iscsi.DefaultPort), of.Connected)
}
