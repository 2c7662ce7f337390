// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
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

// A Match picks disks.
type Match func(Disk) bool

// ByLUN picks disks by their logical unit number, by which Azure attaches disks. Disks of different adapters can have
// the same number.
func ByLUN(lun uint32) Match {
	text := strconv.FormatUint(uint64(lun), 10)
	return func(d Disk) bool { return d.LUN == text }
}

// BySerialNumber picks disks whose serial number contains a text, in upper or lower case. The serial number of an EBS
// volume, for example, contains the volume's id without its hyphen.
func BySerialNumber(part string) Match {
	part = strings.ToLower(part)
	return func(d Disk) bool { return part != "" && strings.Contains(strings.ToLower(d.SerialNumber), part) }
}

// ByPage83 picks disks by the whole page 83h identifier.
func ByPage83(id string) Match {
	return func(d Disk) bool { return id != "" && d.Page83 == id }
}

// ErrAmbiguous is in the error when several disks match where only one is expected.
var ErrAmbiguous = errors.New("several disks match")

// The pauses between two looks at the disks of the node.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 2 * time.Second
)

// Disks lists the disks of the node by number.
func (m *Mounter) Disks(ctx context.Context) ([]Disk, error) {
	ids, err := m.client.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	places, err := m.client.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	found := map[uint32]Disk{}
	for number, id := range ids.GetDiskIDs() {
		found[number] = Disk{Number: number, SerialNumber: id.GetSerialNumber(), Page83: id.GetPage83()}
	}
	for number, place := range places.GetDiskLocations() {
		d := found[number]
		d.Number = number
		d.Adapter, d.Bus, d.Target, d.LUN = place.GetAdapter(), place.GetBus(), place.GetTarget(), place.GetLUNID()
		found[number] = d
	}
	disks := make([]Disk, 0, len(found))
	for _, d := range found {
		disks = append(disks, d)
	}
	slices.SortFunc(disks, func(a, b Disk) int { return int(a.Number) - int(b.Number) })
	return disks, nil
}

// FindDisk returns the one disk that matches. None is csiproxy.ErrDiskNotFound, several are ErrAmbiguous.
func (m *Mounter) FindDisk(ctx context.Context, match Match) (Disk, error) {
	disks, err := m.Disks(ctx)
	if err != nil {
		return Disk{}, err
	}
	found := slices.DeleteFunc(slices.Clone(disks), func(d Disk) bool { return !match(d) })
	switch len(found) {
	case 0:
		return Disk{}, fmt.Errorf("%w: none of the node's %d disks matches", csiproxy.ErrDiskNotFound, len(disks))
	case 1:
		return found[0], nil
	}
	numbers := make([]string, len(found))
	for i, d := range found {
		numbers[i] = strconv.FormatUint(uint64(d.Number), 10)
	}
	return Disk{}, fmt.Errorf("%w: disks %s", ErrAmbiguous, strings.Join(numbers, ", "))
}

// WaitForDisk waits until one disk matches and returns it. Meanwhile it makes Windows look for new devices. If the
// context ends first, the error says so and is csiproxy.ErrDiskNotFound, too.
func (m *Mounter) WaitForDisk(ctx context.Context, match Match) (Disk, error) {
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		d, err := m.FindDisk(ctx, match)
		if !errors.Is(err, csiproxy.ErrDiskNotFound) {
			return d, err
		}
		if _, err := m.client.Disk.Rescan(ctx, &diskapi.RescanRequest{}); err != nil && ctx.Err() == nil {
			return Disk{}, err
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return Disk{}, errors.Join(ctx.Err(), err)
		}
	}
}
