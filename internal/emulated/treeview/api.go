// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// FromAPI builds a tree from the storage API alone. Facts that the agent's versions do not give are left out and named
// in Missing, with the reason as text returns it. It fails if the disks themselves cannot be listed.
func FromAPI(ctx context.Context, client *csiproxy.Client, text func(error) string) (*Tree, error) {
	s := &survey{ctx: ctx, client: client, text: text, disks: map[uint32]*Disk{}, missing: map[string]bool{},
		tree: &Tree{Disks: []Disk{}, Unknown: []string{}}}
	if err := s.list(); err != nil {
		return nil, err
	}
	tree := s.tree
	for _, number := range slices.Sorted(maps.Keys(s.disks)) {
		d := s.disks[number]
		if s.readDisk(d) {
			tree.Disks = append(tree.Disks, *d)
		}
	}
	tree.Missing = append([]string{
		"partitions, partition styles, bus types, mount points, and which disks are read-only or the system's: the storage " +
			"API does not show them",
	}, slices.Sorted(maps.Keys(s.missing))...)
	return tree, nil
}

// survey is one look at a node through the API.
type survey struct {
	ctx     context.Context
	client  *csiproxy.Client
	text    func(error) string
	disks   map[uint32]*Disk
	missing map[string]bool
	tree    *Tree
}

// list finds the disks, by their identifiers and by their locations: old agents know only one of the two.
func (s *survey) list() error {
	ids, err := s.client.Disk.ListDiskIDs(s.ctx, &diskapi.ListDiskIDsRequest{})
	for number, id := range ids.GetDiskIDs() {
		d := s.disk(number)
		d.SerialNumber, d.Page83 = id.GetSerialNumber(), id.GetPage83()
	}
	locations, locationsErr := s.client.Disk.ListDiskLocations(s.ctx, &diskapi.ListDiskLocationsRequest{})
	for number, at := range locations.GetDiskLocations() {
		d := s.disk(number)
		d.Adapter, d.Bus, d.Target, d.LUN = at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()
	}
	if err != nil && locationsErr != nil {
		return err
	}
	s.addMissing("serial numbers and page 83 identifiers", err)
	s.addMissing("SCSI addresses", locationsErr)
	return nil
}

func (s *survey) disk(number uint32) *Disk {
	if s.disks[number] == nil {
		s.disks[number] = &Disk{Number: number, Partitions: []Partition{}}
	}
	return s.disks[number]
}

// addMissing records what is missing and why. A nil error means that it is not missing.
func (s *survey) addMissing(what string, err error) {
	if err != nil {
		s.missing[what+": "+s.text(err)] = true
	}
}

// note records that a fact about an object is missing, because the agent is too old or Windows did not answer.
func (s *survey) note(of *string, what string, err error) {
	if err == nil || errors.Is(err, csiproxy.ErrUnsupported) {
		s.addMissing(what, err)
		return
	}
	*of = what + ": " + s.text(err)
	s.tree.addUnknown(*of)
}

// readDisk looks at one disk. It returns false if the disk is gone.
func (s *survey) readDisk(d *Disk) bool {
	stats, err := s.client.Disk.GetDiskStats(s.ctx, &diskapi.GetDiskStatsRequest{DiskNumber: d.Number})
	if status.Code(err) == codes.NotFound {
		return false
	}
	d.SizeBytes = stats.GetTotalBytes()
	s.note(&d.Unknown, whichMissing("the sizes of disks", "the size of disk %d", d.Number, err), err)
	state, err := s.client.Disk.GetDiskState(s.ctx, &diskapi.GetDiskStateRequest{DiskNumber: d.Number})
	if err == nil {
		online := state.GetIsOnline()
		d.Online = &online
	}
	s.note(&d.Unknown, whichMissing("which disks are online", "whether disk %d is online", d.Number, err), err)
	volumes, err := s.client.Volume.ListVolumesOnDisk(s.ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: d.Number})
	if status.Code(err) != codes.FailedPrecondition { // offline, or nothing on it: then there are none
		s.note(&d.Unknown, whichMissing("volumes", "the volumes of disk %d", d.Number, err), err)
	}
	for _, id := range volumes.GetVolumeIds() {
		d.Partitions = append(d.Partitions, Partition{Volume: s.volume(id)})
	}
	return true
}

func (s *survey) volume(id string) *Volume {
	v := &Volume{ID: id}
	formatted, err := s.client.Volume.IsVolumeFormatted(s.ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	s.note(&v.Unknown, "whether "+id+" is formatted", err)
	v.Formatted = formatted.GetFormatted()
	stats, err := s.client.Volume.GetVolumeStats(s.ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id})
	s.note(&v.Unknown, "the size of "+id, err)
	v.TotalBytes, v.UsedBytes = stats.GetTotalBytes(), stats.GetUsedBytes()
	return v
}

// whichMissing names what is missing: of all disks if the agent's version cannot tell, else of one.
func whichMissing(all, one string, disk uint32, err error) string {
	if errors.Is(err, csiproxy.ErrUnsupported) {
		return all
	}
	return fmt.Sprintf(one, disk)
}
