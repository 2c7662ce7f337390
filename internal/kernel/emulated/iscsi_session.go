// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// iscsiPort is the number of the adapter that the disks of all sessions are on; each session is another target of it.
const iscsiPort = 2

// openSession makes a session: its disks and itself appear in node.json at once. The caller has identity.
func (n *Node) openSession(t iscsiTarget, portal portalName, persistent bool) (iscsiSession, error) {
	before := n.state.Load()
	session := iscsiSession{Known: iscsiKnown{t.Name, portal}, ID: before.ISCSI.LastID + 1}
	var disks []*disk
	records := slices.Clone(before.Disks)
	address := freeTarget(records)
	var err error
	for _, lun := range t.LUNs {
		var d *disk
		if d, err = n.attachLUN(lun, address, records); err != nil {
			break
		}
		disks, records = append(disks, d), append(records, d.record)
		session.Images = append(session.Images, lun.Image)
	}
	if err == nil {
		err = n.update(func(s *state) {
			s.Disks = records
			s.ISCSI.LastID = session.ID
			s.ISCSI.Sessions = append(s.ISCSI.Sessions, session)
			if persistent {
				s.ISCSI.Persistent = append(s.ISCSI.Persistent, session.Known)
			}
		})
	}
	if err != nil {
		for _, d := range disks { // nobody saw them; the images are put aside at the next start
			_ = d.image.file.Close()
		}
		return iscsiSession{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range disks {
		n.disks[d.number] = d
	}
	n.arriving[session.ID] = t.PendingQueries
	return session, nil
}

// freeTarget is the lowest target number of the adapter that no disk has.
func freeTarget(disks []diskState) (target uint8) {
	for target < 255 && slices.ContainsFunc(disks, func(d diskState) bool { return d.Adapter == iscsiPort && d.Target == target }) {
		target++
	}
	return target
}

// attachLUN opens a logical unit as a disk that comes as Windows' SAN policy has them come: offline and read-only.
func (n *Node) attachLUN(lun iscsiLUN, target uint8, others []diskState) (*disk, error) {
	size, err := n.placeLUN(lun)
	if err != nil {
		return nil, err
	}
	record, err := DiskSpec{
		SizeBytes: size, SerialNumber: lun.Serial, Identifiers: lun.Identifiers, BusType: win32.BusTypeiScsi,
		Adapter: iscsiPort, Target: target, LUN: lun.LUN, Offline: true, ReadOnly: true,
	}.record(others)
	if err != nil {
		return nil, err
	}
	record.Image = lun.Image
	return n.newDisk(record)
}

// placeLUN puts the image of a logical unit among the disks: the one of the last session, or a blank one. It returns
// the size, which may have grown in an earlier session.
func (n *Node) placeLUN(lun iscsiLUN) (size int64, err error) {
	here, aside := imagePath(n.dir, lun.Image), detachedPath(n.dir, lun.Image)
	for _, path := range []string{here, aside} {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if !info.Mode().IsRegular() {
			return 0, &DamagedStateError{File: path, Problem: "it is not a regular file", Advice: "remove it"}
		}
		if path == aside {
			if err := n.host.rename(aside, here); err != nil {
				return 0, err
			}
		}
		if info.Size() >= lun.SizeBytes {
			return info.Size(), nil
		}
		return lun.SizeBytes, n.growImage(here, lun.SizeBytes) // its making was interrupted
	}
	return lun.SizeBytes, n.host.createImage(n.dir, lun.Image, lun.SizeBytes)
}

func (n *Node) growImage(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(n.host.truncate(f, size), f.Close())
}

// closeSession takes a session and its disks away, whatever is open or mounted. The images are kept. The caller has
// identity, and ends what was open on the volumes.
func (n *Node) closeSession(session iscsiSession) error {
	disks := n.sessionDisks(session)
	if err := n.pullAll(session, disks); err != nil {
		return err
	}
	n.mu.Lock()
	for _, d := range disks {
		delete(n.disks, d.number)
	}
	n.mu.Unlock()
	delete(n.arriving, session.ID)
	var errs []error
	for _, d := range disks {
		errs = append(errs, n.host.rename(d.image.path(), detachedPath(n.dir, d.record.Image)))
	}
	return errors.Join(errs...)
}

// pullAll takes the disks of a session out of node.json together with it, and lets go of their images.
func (n *Node) pullAll(session iscsiSession, disks []*disk) error {
	defer lockAll(disks)()
	for _, d := range disks {
		if d.image.half { // an image is only kept whole
			if err := d.image.replay(); err != nil {
				return err
			}
		}
	}
	err := n.update(func(s *state) {
		s.Disks = slices.DeleteFunc(s.Disks, func(r diskState) bool { return slices.Contains(session.Images, r.Image) })
		s.ISCSI.Sessions = slices.DeleteFunc(s.ISCSI.Sessions, func(o iscsiSession) bool { return o.ID == session.ID })
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range disks {
		d.gone = true
		errs = append(errs, d.image.file.Close())
	}
	return errors.Join(errs...)
}

// lockAll locks disks in the order of their numbers, which they have.
func lockAll(disks []*disk) (unlock func()) {
	for _, d := range disks {
		d.mu.Lock()
	}
	return func() {
		for _, d := range disks {
			d.mu.Unlock()
		}
	}
}
