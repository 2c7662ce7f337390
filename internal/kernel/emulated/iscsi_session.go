// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// iscsiPort is the number of the adapter that the disks of all sessions are on; each session is another target of it.
const iscsiPort = 2

// openSession makes a session, which appears in node.json together with its disks.
func (n *Node) openSession(t ISCSITargetSpec, portal portalName, persistent bool) (iscsiSession, error) {
	before := n.state
	session := iscsiSession{Known: iscsiKnown{t.Name, portal}, ID: before.ISCSI.LastID + 1}
	var disks []*disk
	var back []fileMove
	for _, lun := range t.LUNs {
		back = append(back, moveToDetached(lun.Image))
	}
	err := n.update(func(s *state) { s.Moves = append(s.Moves, back...) })
	if err != nil {
		return iscsiSession{}, err
	}
	records := slices.Clone(before.Disks)
	address := freeTarget(records)
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
			s.dropMoves(back)
			s.ISCSI.LastID = session.ID
			s.ISCSI.Sessions = append(s.ISCSI.Sessions, session)
			if persistent {
				s.ISCSI.Persistent = append(s.ISCSI.Persistent, session.Known)
			}
		})
	}
	if err != nil {
		for _, d := range disks {
			_ = d.image.file.Close() // the disks were never visible
		}
		return iscsiSession{}, errors.Join(err, n.undoMoves(back, err))
	}
	for _, d := range disks {
		n.disks[d.number] = d
	}
	n.arriving[session.ID] = t.PendingQueries
	return session, nil
}

// freeTarget returns the lowest free target number of the adapter.
func freeTarget(disks []diskState) (target uint8) {
	for target < 255 && slices.ContainsFunc(disks,
		func(d diskState) bool { return d.Adapter == iscsiPort && d.Target == target }) {
		target++
	}
	return target
}

// attachLUN opens a logical unit as a disk.
func (n *Node) attachLUN(lun ISCSILUNSpec, target uint8, others []diskState) (*disk, error) {
	if err := n.placeLUN(lun); err != nil {
		return nil, err
	}
	record, err := lun.disk(target).record(others, n.state.Switches)
	if err != nil {
		return nil, err
	}
	record.Image = lun.Image
	return n.newDisk(record)
}

// placeLUN puts the image of a logical unit among the disks: that of the last session, or a blank one.
func (n *Node) placeLUN(lun ISCSILUNSpec) error {
	here, aside := imagePath(n.dir, lun.Image), detachedPath(n.dir, lun.Image)
	for _, path := range []string{here, aside} {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return &DamagedStateError{File: path, Problem: "it is not a regular file", Advice: "remove it"}
		}
		if info.Size() < int64(lun.SizeBytes) {
			problem := fmt.Sprintf("it has %d bytes, and had %d", info.Size(), lun.SizeBytes)
			return &DamagedStateError{File: path, Problem: problem, Advice: "restore it, or remove it for a blank logical unit"}
		}
		if path == aside {
			if err := n.host.rename(aside, here); err != nil {
				return err
			}
		}
		return nil
	}
	return n.host.createImage(n.dir, lun.Image, int64(lun.SizeBytes))
}

// closeSession removes a session and its disks, whatever is open or mounted. The images are kept.
func (n *Node) closeSession(session iscsiSession) error {
	return n.endSession(session, func(*state) {})
}

// endSession is closeSession with one more change of the state.
func (n *Node) endSession(session iscsiSession, change func(*state)) error {
	disks := n.sessionDisks(session)
	var moves []fileMove
	for _, d := range disks {
		moves = append(moves, moveToDetached(d.record.Image))
	}
	return n.pull(disks, moves, func(s *state) {
		change(s)
		s.ISCSI.Sessions = slices.DeleteFunc(s.ISCSI.Sessions, func(o iscsiSession) bool { return o.ID == session.ID })
	})
}
