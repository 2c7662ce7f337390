// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// Node is an emulated Windows node. It is safe for concurrent use.
//
// Locks are taken in this order: identity, a content's, mu, a disk's, saving.
type Node struct {
	dir  string
	host *host
	lock *os.File

	// identity is held while disks get or change identities: no two that are online may have the same. The initiator
	// service works under it, too.
	identity sync.Mutex
	mu       sync.RWMutex // guards disks, contents, shares and boot
	disks    map[uint32]*disk
	contents map[guid.GUID]*content
	shares   map[string]*content // connections by lower-case server\share
	where    sync.Map            // the disk on which a volume, by GUID, was found last
	boot     int                 // counts reboots; a device handle of an earlier boot is dead

	scm serviceControl

	arriving map[uint64]int // queries until the disks of an iSCSI session have their numbers; guarded by identity

	saving sync.Mutex            // held while state and node.json change
	state  atomic.Pointer[state] // what it points to never changes
}

var _ kernel.Kernel = (*Node)(nil)

// Close lets go of the state directory. Open handles are dead afterwards.
func (n *Node) Close() error {
	n.mu.Lock()
	n.boot++
	contents := append(n.takeContents(func(*content) bool { return true }), n.takeShares()...)
	var errs []error
	for _, d := range n.disks {
		d.mu.Lock()
		d.gone = true
		errs = append(errs, d.image.file.Close())
		d.mu.Unlock()
	}
	n.disks = nil
	n.mu.Unlock()
	for _, c := range contents {
		c.retire(errRebooted)
	}
	return errors.Join(append(errs, n.lock.Close())...)
}

// update changes the state and node.json together: on failure both stay. What it calls must not lock anything.
func (n *Node) update(change func(*state)) error {
	n.saving.Lock()
	defer n.saving.Unlock()
	next := n.state.Load().clone()
	change(&next)
	if err := n.host.saveState(n.dir, next); err != nil {
		return err
	}
	n.state.Store(&next)
	return nil
}

// diskList is the attached disks by number.
func (n *Node) diskList() []*disk {
	n.mu.RLock()
	defer n.mu.RUnlock()
	list := make([]*disk, 0, len(n.disks))
	for _, d := range n.disks {
		list = append(list, d)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list
}

func (n *Node) diskNumbered(number uint32) (*disk, bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	d, ok := n.disks[number]
	return d, ok
}

// volumeList is every volume that exists now, by disk and partition.
func (n *Node) volumeList() []*volume {
	var list []*volume
	for _, d := range n.diskList() {
		list = append(list, d.volumeList()...)
	}
	return list
}

// volume finds the volume that has the GUID now.
func (n *Node) volume(id guid.GUID) (*volume, bool) {
	if d, ok := n.where.Load(id); ok {
		if v, ok := d.(*disk).volume(id); ok { //nolint:forcetypeassert // nothing else is stored
			return v, true
		}
	}
	for _, d := range n.diskList() {
		if v, ok := d.volume(id); ok {
			n.where.Store(id, d)
			return v, true
		}
	}
	n.where.Delete(id)
	return nil, false
}

// retireContents ends what was open on volumes that are no longer there, or no longer what they were. No lock is
// held by the caller.
func (n *Node) retireContents() {
	n.mu.RLock()
	known := make([]*content, 0, len(n.contents))
	for _, c := range n.contents {
		known = append(known, c)
	}
	n.mu.RUnlock()
	for _, c := range known {
		if v, ok := n.volume(c.id); !ok || !v.formatted() {
			n.retireContent(c.id, errVolumeGone)
		}
	}
}

// retireContent ends what is open on one volume.
func (n *Node) retireContent(id guid.GUID, why error) {
	n.mu.Lock()
	gone := n.takeContents(func(c *content) bool { return c.id == id })
	n.mu.Unlock()
	for _, c := range gone {
		c.retire(why)
	}
}

// takeContents removes and returns contents; mu is held.
func (n *Node) takeContents(which func(*content) bool) []*content {
	var taken []*content
	for id, c := range n.contents {
		if which(c) {
			taken = append(taken, c)
			delete(n.contents, id)
		}
	}
	return taken
}
