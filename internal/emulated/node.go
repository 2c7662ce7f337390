// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// Node is an emulated Windows node. It is safe for concurrent use.
type Node struct {
	dir  string
	host *hostfiles.Host
	lock *os.File

	mu       sync.Mutex // guards what follows, and the state directory; see call
	state    state      // as in node.json; changed by update
	disks    disks      // nil: the node is closed
	contents contents
	boot     int                // counts reboots; device handles of earlier boots are invalid
	online   map[guid.GUID]bool // volumes that were brought online since the last boot

	unmapped   int             // contacts with file servers without a mapping
	arriving   map[uint64]int  // queries until the disks of an iSCSI session have their numbers, by its id
	privileges map[string]bool // enabled by the agent's process

	hastened chan struct{} // closed: calls take no time, whatever the switch timing
}

var _ kernel.Kernel = (*Node)(nil)

// Close releases the state directory. Open handles are invalid afterwards.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.putDown(), n.lock.Close())
}

// putDown ends the use of everything that is open, and forgets what lasts until a reboot.
func (n *Node) putDown() error {
	n.boot++
	n.hastened = make(chan struct{})
	clear(n.online)
	clear(n.privileges)
	n.contents.retire(errRebooted, func(*content) bool { return true })
	var errs []error
	for _, d := range n.disks {
		errs = append(errs, d.image.File.Close())
	}
	n.disks = nil
	return errors.Join(errs...)
}

// update changes the state and node.json together. If it fails, both stay.
func (n *Node) update(change func(*state)) error {
	if n.disks == nil {
		return errRebooted
	}
	next := n.state.clone()
	change(&next)
	if err := saveState(n.host, n.dir, next); err != nil {
		return err
	}
	n.state = next
	return nil
}

// follow changes the state to what directories and images show already. While node.json cannot be written, that is left
// to the next update or start.
func (n *Node) follow(change func(*state)) error {
	next := n.state.clone()
	change(&next)
	n.state = next
	return saveState(n.host, n.dir, next)
}

// disks are the attached disks, by number.
type disks map[uint32]*disk

// list returns the attached disks that are installed, by number.
func (all disks) list() []*disk {
	list := make([]*disk, 0, len(all))
	for _, d := range all {
		if d.installing == installed {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b *disk) int { return int(a.record.Number) - int(b.record.Number) })
	return list
}

// volumes returns all current volumes, by disk and partition.
func (all disks) volumes() []*volume {
	var list []*volume
	for _, d := range all.list() {
		for _, v := range d.volumes {
			if v.arrived() {
				list = append(list, v)
			}
		}
	}
	return list
}

// volume returns the current volume with the GUID, nil if there is none.
func (all disks) volume(id guid.GUID) *volume {
	for _, d := range all {
		if v := d.volume(func(v *volume) bool { return v.ID == id }); v != nil {
			return v
		}
	}
	return nil
}

// volumeWith is like volume, but fails with ERROR_FILE_NOT_FOUND.
func (all disks) volumeWith(id guid.GUID) (*volume, error) {
	if v := all.volume(id); v != nil {
		return v, nil
	}
	return nil, win32.ERROR_FILE_NOT_FOUND
}

// retireGone retires the contents of volumes that are gone or have changed, and of shares that are out of reach.
func (n *Node) retireGone() {
	n.contents.retire(errShareGone, func(c *content) bool {
		return c.isShare() && n.state.SMB.Connectable(c.share.Server, c.share.Share) != nil
	})
	n.contents.retire(errVolumeGone, func(c *content) bool {
		v := n.disks.volume(c.id)
		return !c.isShare() && (v == nil || !v.formatted())
	})
}

// contents are the mounted file systems, by the directory of the files.
type contents map[string]*content

// retire retires the contents that a function selects.
func (all contents) retire(why error, which func(*content) bool) {
	for path, c := range all {
		if which(c) {
			c.retire(why)
			delete(all, path)
		}
	}
}

// CanReboot fails if the host does not let the node save its state and read it, its parts and its disks again: a reboot
// would not come back.
func (n *Node) CanReboot() error {
	defer n.control()()
	if err := errors.Join(saveState(n.host, n.dir, n.state), checkParts(n.dir)); err != nil {
		return err
	}
	s, err := loadState(n.dir)
	for _, record := range s.Disks {
		image, openErr := bundle.Open(n.host, record.Home(n.dir))
		if openErr == nil {
			openErr = image.File.Close()
		}
		err = errors.Join(err, openErr)
	}
	return err
}

// Reboot restarts the node: every open handle becomes invalid. Disks, their numbers and states, mount points and links
// stay.
func (n *Node) Reboot() error {
	n.Hasten()
	defer n.control()()
	err := n.update(func(s *state) {
		s.SMB.Reboot(s.Switches.MappingsOutliveReboot)
		s.Services.Boot()
	})
	if err == nil {
		err = errors.Join(n.putDown(), n.start(Options{}))
	}
	if err != nil {
		return err
	}
	return n.rebootISCSI()
}
