// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// refuseMissing refuses to replace the mount point of a volume that is not present if it may come back: another disk is
// offline and has partitions, has a hidden one, or does not answer, or an iSCSI session has lost its connection. The
// disk that is staged is brought online first.
func (o *op) refuseMissing(s diskStep, there mounted) error {
	paths, err := o.diskInterfaces()
	if err != nil {
		return err
	}
	refuse := func(repair, where string, args ...any) error {
		return otherVolume("volume %s is mounted at %s, and may be %s; %s, or Unstage the path", there.id, s.target,
			fmt.Sprintf(where, args...), repair)
	}
	disks, unknown := disksAt(o, paths, func(_ *op, d *disk) (where string, err error) {
		why, err := d.maySoonHaveVolumes()
		if why != "" && d.number != s.number {
			where = fmt.Sprintf("on disk %d, which %s", d.number, why)
		}
		return where, err
	})
	for _, where := range disks {
		if where != "" {
			return refuse("bring it online or detach it", "%s", where)
		}
	}
	for _, d := range unknown {
		if d.number == nil {
			return refuse("repair or detach it", "on a disk that does not answer, not even its number: %v", d.err)
		}
		if *d.number != s.number {
			return refuse("repair or detach it", "on disk %d, which does not answer: %v", *d.number, d.err)
		}
	}
	sessions, err := o.allSessions() // the volume may be on one of their disks
	switch {
	case errdefs.HasReason(err, reason.ServiceNotRunning):
		return nil
	case err != nil:
		return err
	}
	for _, session := range sessions {
		if !session.Connected {
			return refuse("wait for the target or disconnect it",
				"on a disk of the iSCSI target %s, to which the connection is lost", session.TargetName)
		}
	}
	return nil
}

// maySoonHaveVolumes says why a disk has fewer volumes than it may have later, "" for none.
func (d *disk) maySoonHaveVolumes() (why string, err error) {
	state, err := d.state()
	if err != nil {
		return "", err
	}
	layout, err := d.layout()
	switch {
	case err != nil:
		return "", err
	case !state.online && !hasNoTable(layout):
		return "is offline", nil
	case slices.ContainsFunc(layout.Partitions, isHidden):
		return "has a hidden partition", nil
	}
	return "", nil
}
