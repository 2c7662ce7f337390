// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/strictyaml"
)

var (
	// ErrNoSuchSwitch means that there is no switch of the name.
	ErrNoSuchSwitch = errors.New("no such switch")
	// ErrInvalidSwitch means that a switch does not accept the answer.
	ErrInvalidSwitch = errors.New("invalid answer")
)

// A Switch is one of the Switches as text.
type Switch struct {
	Name  string // as in scenario files
	Value string
	Form  string // the allowed values: "true or false"
	About string
}

// switchTexts returns the descriptions of the switches, in the order of the scenario's keys.
func switchTexts() []Switch {
	const boolean = "true or false"
	return []Switch{
		{"attributesVersion", "", "16 or 40", "Version that `IOCTL_DISK_SET_DISK_ATTRIBUTES` wants."},
		{"createDiskClears", "", boolean, "Creating tables brings an offline disk online and makes it writable."},
		{"sanPolicy", "", "OfflineShared, OfflineAll", "Which new disks stay offline: those that say so, or all."},
		{"offlineDisksReadOnly", "", boolean, "Disks that arrive offline are read-only as well."},
		{"zeroedDiskIsMBR", "", boolean, "A zeroed disk reads as an MBR without entries."},
		{"msr", "", "immediate, delayed, late, never", "When the Microsoft reserved partition comes after a GPT is made."},
		{"msrAfterReads", "", "1 or more", "With `delayed`: at which later reading of the layout."},
		{"growPartitionRefreshes", "", boolean, "`IOCTL_DISK_GROW_PARTITION` moves the backup header of a grown disk."},
		{"nvmeLUNsNumbered", "", boolean, "NVMe namespaces have LUNs that are made of their identifiers, not LUN 0."},
		{"identifiersApart", "", boolean, "Disks do not answer with all of their identifiers at once."},
		{"systemPartitionUnknown", "", boolean, "The registry does not name the partition that Windows boots from."},
		{"growPartition", "", "immediate, delayed, never",
			"When `IOCTL_DISK_GROW_PARTITION` works on a disk that has just grown."},
		{"volumeLengthDelayed", "", boolean, "A volume learns a little after its partition that it has grown."},
		{"volumesArriveLate", "", boolean,
			"The volumes of new partitions, and of disks that come online, arrive a little later."},
		{"automountOff", "", boolean, "Volumes that were not mounted before stay offline (`mountvol /N`)."},
		{"providerLate", "", "never, 40003, 40006, 41003, 43006",
			"What `MSFT_Volume.Format` returns for some seconds after a partition was made, or a disk brought online."},
		{"offlineVolumesRefuseAll", "", boolean,
			"A volume that is offline refuses every control code but `IOCTL_VOLUME_ONLINE`."},
		{"disksInstallLate", "", boolean, "A new disk is listed only after a rescan and the wait for its installation."},
		{"extendOneSectorLess", "", boolean, "`FSCTL_EXTEND_VOLUME` wants one sector less than the partition has."},
		{"lacksPrivileges", "", "none, or privileges separated by commas",
			"Privileges that the agent's account does not have."},
		{"mountPointCallsShareDelete", "", boolean,
			"`SetVolumeMountPointW` and `DeleteVolumeMountPointW` bear others that have the directory open with `DELETE`."},
		{"mountPointCallsDelete", "", boolean,
			"They open it with `DELETE`, so that a handle that does not share deletion is in their way."},
		{"mountManagerNotices", "", boolean,
			"The mount manager forgets a mount point that was removed without `DeleteVolumeMountPointW`, and follows one that " +
				"was moved."},
		{"mappingsOutliveReboot", "", boolean,
			"SMB mappings stay after a reboot, disconnected and without their credentials."},
		{"mappingStatusDelayed", "", boolean,
			"An SMB mapping that an open has reconnected is listed as disconnected for a moment."},
		{"linksRefused", "", "onTheWay, everywhere, never", "Which links `OBJ_DONT_REPARSE` refuses when a file is opened."},
		{"lostSessions", "", "disconnected, connected, unlisted", "How an iSCSI session is listed whose connection is lost."},
		{"timing", "", "none, windows", "How long calls take: as long as the host does, or about as long as on Windows."},
		{"multiAttach", "", boolean, "The cloud attaches a bundle to several nodes at a time, if the switch is set on all " +
			"of them."},
	}
}

// Switches returns the switches, in the order of the scenario's keys.
func (n *Node) Switches() []Switch {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := switchTexts()
	for i := range list {
		list[i].Value = n.state.Switches.text(list[i].Name)
	}
	return list
}

// text returns the answer of one switch, by its name in scenario files.
func (s Switches) text(name string) string {
	v := reflect.ValueOf(s)
	for f := range v.Type().Fields() {
		if f.Tag.Get("yaml") == name {
			return fmt.Sprint(v.FieldByIndex(f.Index).Interface())
		}
	}
	return ""
}

// SetSwitch changes the answer to one question for later calls. Effects of earlier calls stay. Errors: ErrNoSuchSwitch,
// ErrInvalidSwitch.
func (n *Node) SetSwitch(name, answer string) error {
	known := find(switchTexts(), func(s *Switch) bool { return strings.EqualFold(s.Name, name) })
	if known == nil {
		return fmt.Errorf("switch %q: %w", name, ErrNoSuchSwitch)
	}
	return n.control(func() error {
		next := n.state.Switches
		_, err := strictyaml.Decode("", []byte(known.Name+": "+answer), &next)
		if err != nil || strings.ContainsAny(answer, "\r\n") || next.check() != nil {
			return fmt.Errorf("%w: %s is %q; it must be one of these: %s", ErrInvalidSwitch, known.Name, answer, known.Form)
		}
		if err := n.update(func(s *state) { s.Switches = next }); err != nil {
			return err
		}
		n.retime()
		var errs []error
		for _, d := range n.disks { // how a zeroed disk reads is one of the questions
			errs = append(errs, d.refresh())
		}
		return errors.Join(errs...)
	})
}
