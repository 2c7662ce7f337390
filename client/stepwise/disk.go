// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// A Disk is one disk of the node, as drivers recognise it.
type Disk struct {
	Number       uint32 // changes when disks come and go
	SerialNumber string // as the disk reports it, trimmed
	Page83       string // the identifier of SCSI page 83h: text as it is, binary as lower-case hexadecimal digits
	Adapter      string // decimal, like the rest; all empty for a disk without such a location
	Bus          string
	Target       string
	LUN          string
}

// String returns the disk with its marks, for errors.
func (d Disk) String() string {
	marks := []string{strconv.FormatUint(uint64(d.Number), 10)}
	for _, mark := range []struct{ name, value string }{
		{"serial number", d.SerialNumber}, {"page 83h", d.Page83}, {"adapter", d.Adapter},
		{"target", d.Target}, {"LUN", d.LUN},
	} {
		if mark.value != "" {
			marks = append(marks, mark.name+" "+mark.value)
		}
	}
	return strings.Join(marks, " ")
}

// The pauses between two looks at the disks of the node, and how long to go on looking.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
	// longestWait is what a call of csiproxy.Client gets that comes without a deadline.
	longestWait = 2 * time.Minute
)

// Disks lists the disks of the node by number.
func (m *Mounter) Disks(ctx context.Context) ([]Disk, error) {
	ids, err := m.client.Disk.ListDiskIDs(ctx, &calls.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	places, err := m.client.Disk.ListDiskLocations(ctx, &calls.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	found := map[uint32]Disk{}
	for number, id := range ids.GetDiskIDs() {
		found[number] = Disk{Number: number, SerialNumber: strings.TrimSpace(id.GetSerialNumber()), Page83: id.GetPage83()}
	}
	for number, at := range places.GetDiskLocations() {
		d := found[number]
		d.Number = number
		d.Adapter, d.Bus, d.Target, d.LUN = at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()
		found[number] = d
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Disk) int { return cmp.Compare(a.Number, b.Number) }), nil
}

// FindDisk returns the one disk that matches. None is csiproxy.ErrDiskNotFound, several are csiproxy.ErrAmbiguous;
// either error lists the candidates with their marks. An argument of the match that makes no sense is fs.ErrInvalid.
func (m *Mounter) FindDisk(ctx context.Context, match Match) (Disk, error) {
	disks, err := m.Disks(ctx)
	if err != nil {
		return Disk{}, err
	}
	found, err := match.pick(ctx, m, disks)
	switch {
	case errors.Is(err, fs.ErrInvalid): // it names what the match is of
		return Disk{}, err
	case err != nil:
		return Disk{}, fmt.Errorf("looking for a disk with %s: %w", match.what, err)
	case len(found) == 0:
		return Disk{}, fmt.Errorf("%w: none with %s; the node has the disks %s", calls.ErrDiskNotFound,
			match.what, list(disks))
	case len(found) > 1:
		return Disk{}, fmt.Errorf("%w: %s: the disks %s", calls.ErrAmbiguous, match.what, list(found))
	}
	return found[0], nil
}

func list(disks []Disk) string {
	var texts []string
	for _, d := range disks {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}

// same returns an error unless a disk is still the one that was found under its number, which Windows gives to another
// disk when one goes.
func (m *Mounter) same(ctx context.Context, found Disk) error {
	disks, err := m.Disks(ctx)
	if err == nil && !slices.Contains(disks, found) {
		err = fmt.Errorf("%w: disk %s is not there any more; the node has the disks %s",
			calls.ErrDiskNotFound, found, list(disks))
	}
	return err
}

// WaitForDisk waits until one disk matches and returns it. Meanwhile it makes Windows look for new devices. If the
// context ends first, the error says so, and is csiproxy.ErrDiskNotFound, too, after at least one look; a context
// without a deadline gets one of two minutes. Several disks that match are csiproxy.ErrAmbiguous at once.
func (m *Mounter) WaitForDisk(ctx context.Context, match Match) (Disk, error) {
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, longestWait)
		defer cancel()
		ctx = limited
	}
	var missing error
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		d, err := m.FindDisk(ctx, match)
		switch {
		case err == nil:
			return d, nil
		case errors.Is(err, calls.ErrDiskNotFound):
			missing = err
		case ctx.Err() == nil || missing == nil:
			return Disk{}, err
		}
		if _, err := m.client.Disk.Rescan(ctx, &calls.RescanRequest{}); err != nil && ctx.Err() == nil {
			return Disk{}, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Disk{}, errors.Join(ctx.Err(), missing)
		}
	}
}
