// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// String returns the disk with its marks, for errors.
func (d foundDisk) String() string {
	marks := []string{strconv.FormatUint(uint64(d.number), 10)}
	for _, mark := range []struct{ name, value string }{
		{"serial number", d.ids.SerialNumber}, {"page 83h", d.ids.Page83}, {"adapter", d.address.Adapter},
		{"target", d.address.Target}, {"LUN", d.lun},
	} {
		if mark.value != "" {
			marks = append(marks, mark.name+" "+mark.value)
		}
	}
	return strings.Join(marks, " ")
}

func listOf(disks []foundDisk) string {
	var texts []string
	for _, d := range disks {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}

// is verifies that an open disk is the one that was found.
func (d foundDisk) is(o *op, now *disk) error {
	ids := now.ids(o.run.Context)
	if ids != d.ids {
		return errdefs.Unavailable.Errorf(reason.DiskChanged,
			"disk %d is another disk now, or does not say which: its serial number is %q and was %q, its page 83h "+
				"identifier is %q and was %q. Nothing was changed; try again",
			d.number, ids.SerialNumber, d.ids.SerialNumber, ids.Page83, d.ids.Page83)
	}
	if !d.hasAddress() {
		return nil
	}
	at, err := now.location()
	if err == nil && at != d.address { // a clone
		err = errdefs.Unavailable.Errorf(reason.DiskChanged,
			"disk %d is another disk now: its address is %+v and was %+v. Nothing was changed; try again",
			d.number, at, d.address)
	}
	return err
}

// look asks all disks for their marks, by number; for LUNs, also what they hold and whether Windows needs them.
func (o *op) look(luns bool, before func(o *op, number uint32)) ([]foundDisk, error) {
	disks, err := eachDisk(o, func(o *op, d *disk) (foundDisk, error) {
		if before != nil {
			before(o, d.number)
		}
		return d.marks(o, luns)
	})
	if err != nil {
		return nil, err
	}
	if luns {
		if err := o.findLUNs(disks); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(disks, func(a, b foundDisk) int { return cmp.Compare(a.number, b.number) })
	return disks, nil
}

func (d *disk) marks(o *op, luns bool) (foundDisk, error) {
	ids, device := d.identify(o.run.Context)
	found := foundDisk{number: d.number, ids: ids, path: d.path, busType: busUnread}
	if device != nil {
		found.busType, found.model = device.BusType, strings.TrimSpace(win32.DeviceText(device.ProductID))
	}
	var err error
	found.address, err = d.location()
	if luns && err == nil && found.hasAddress() {
		found.layout, err = d.layoutOnBus(found.busType)
	}
	return found, err
}

// The pauses between two looks at the disks of the node.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// awaitDisk returns the one disk that fits, and waits for it as long as its caller does. Meanwhile it makes Windows
// look for new devices. Calls that wait for different disks share these looks, and a call that waits has no lease.
func (n *Node) awaitDisk(ctx context.Context, m match) (foundDisk, error) {
	disks, err := read(ctx, n, operation.On("FindDisk"), func(o *op) ([]foundDisk, error) { return o.look(m.luns, nil) })
	if err != nil {
		return foundDisk{}, err
	}
	found, err := n.pick(ctx, m, disks)
	if !errdefs.HasReason(err, reason.DiskNotFound) {
		return found, err
	}
	waiting, resume, refusal := n.config.Idle(ctx)
	if refusal != nil {
		return foundDisk{}, refusal
	}
	again := operation.On("FindDisk", operation.Devices)
	again.JoinQueuedOnly = true // a look that runs may have missed the disk
	for pause := firstPause; errdefs.HasReason(err, reason.DiskNotFound); pause = min(2*pause, lastPause) {
		disks, failure := changeTo(waiting, n, again, func(o *op) ([]foundDisk, error) {
			if err := o.rescanDevices(); err != nil {
				return nil, err
			}
			return o.look(true, (*op).refresh)
		})
		if failure == nil {
			found, failure = n.pick(waiting, m, disks)
		}
		if waiting.Err() == nil {
			err = failure
		}
		if !errdefs.HasReason(err, reason.DiskNotFound) {
			break
		}
		select {
		case <-time.After(pause):
		case <-waiting.Done():
			if told, ok := errors.AsType[*errdefs.Error](context.Cause(waiting)); ok {
				err = told
			}
			return foundDisk{}, err
		}
	}
	if err == nil {
		err = resume()
	}
	return found, err
}

// pick returns the one disk that fits. The error for none, and for several, lists the candidates.
func (n *Node) pick(ctx context.Context, m match, disks []foundDisk) (foundDisk, error) {
	found := slices.DeleteFunc(slices.Clone(disks), func(d foundDisk) bool {
		return !m.fits(d) || m.instead != nil && m.instead(d.busType) != ""
	})
	if m.among != nil && len(found) > 0 {
		var err error
		if found, err = m.among(ctx, n, found); err != nil {
			return foundDisk{}, err
		}
	}
	switch len(found) {
	case 0:
		return foundDisk{}, errdefs.NotFound.Errorf(reason.DiskNotFound,
			"disk not found: none with %s%s; the node has the disks %s", m.what, elsewhere(m, disks), listOf(disks))
	case 1:
		return found[0], nil
	}
	return foundDisk{}, errdefs.FailedPrecondition.Errorf(reason.AmbiguousDisk, "several disks match: %s: the disks %s",
		m.what, listOf(found))
}
