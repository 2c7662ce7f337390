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
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// FromAPI builds a tree from the storage API alone. Facts that the agent's versions do not give are left out and named
// in Missing, with the reason as text returns it. It fails if the disks themselves cannot be listed.
func FromAPI(ctx context.Context, client *csiproxy.Client, text func(error) string) (*Tree, error) {
	s := &survey{ctx: ctx, client: client, text: text, missing: map[string]bool{},
		tree: &Tree{Disks: []Disk{}, Unknown: []string{}}}
	disks, err := s.list()
	if err != nil {
		return nil, err
	}
	for _, number := range slices.Sorted(maps.Keys(disks)) {
		if d := disks[number]; s.readDisk(d) {
			s.tree.Disks = append(s.tree.Disks, *d)
		}
	}
	s.tree.Missing = append([]string{
		"partitions, partition styles, bus types, mount points, and which disks are read-only or the system's: the storage " +
			"API does not show them",
	}, slices.Sorted(maps.Keys(s.missing))...)
	return s.tree, nil
}

// survey is one look at a node through the API.
type survey struct {
	ctx     context.Context
	client  *csiproxy.Client
	text    func(error) string
	missing map[string]bool
	tree    *Tree
}

// list finds the disks, by their identifiers and by their locations: old agents know only one of the two.
func (s *survey) list() (map[uint32]*Disk, error) {
	disks := map[uint32]*Disk{}
	disk := func(number uint32) *Disk {
		if disks[number] == nil {
			disks[number] = &Disk{Number: number, Partitions: []Partition{}}
		}
		return disks[number]
	}
	ids, err := s.client.Disk.ListDiskIDs(s.ctx, &diskapi.ListDiskIDsRequest{})
	for number, id := range ids.GetDiskIDs() {
		d := disk(number)
		d.SerialNumber, d.Page83 = id.GetSerialNumber(), id.GetPage83()
	}
	locations, locationsErr := s.client.Disk.ListDiskLocations(s.ctx, &diskapi.ListDiskLocationsRequest{})
	for number, at := range locations.GetDiskLocations() {
		d := disk(number)
		d.Adapter, d.Bus, d.Target, d.LUN = at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()
	}
	if err != nil && locationsErr != nil {
		return nil, err
	}
	s.addMissing("serial numbers and page 83 identifiers", err)
	s.addMissing("SCSI addresses", locationsErr)
	return disks, nil
}

// addMissing records what is missing and why. A nil error means that it is not missing.
func (s *survey) addMissing(what string, err error) {
	if err != nil {
		s.missing[what+": "+s.text(err)] = true
	}
}

// note records that a fact is missing: of all objects if the agent is too old, else of one, because Windows did not
// answer.
func (s *survey) note(of *string, unanswered *bool, all, one string, err error) {
	if err == nil || errors.Is(err, csiproxy.ErrUnsupported) {
		s.addMissing(all, err)
		return
	}
	call := (*csiproxy.Error)(nil)
	*unanswered = errors.Is(err, csiproxy.ErrStillRunning) || errors.As(err, &call) && call.Reason == reason.NotAnswering
	*of = one + ": " + s.text(err)
	s.tree.addUnknown(*of, *unanswered)
}

// readDisk looks at one disk. It returns false if the disk is gone.
func (s *survey) readDisk(d *Disk) bool {
	name := fmt.Sprintf("disk %d", d.Number)
	stats, err := s.client.Disk.GetDiskStats(s.ctx, &diskapi.GetDiskStatsRequest{DiskNumber: d.Number})
	if status.Code(err) == codes.NotFound {
		return false
	}
	d.SizeBytes = stats.GetTotalBytes()
	s.note(&d.Unknown, &d.Unanswered, "the sizes of disks", "the size of "+name, err)
	state, err := s.client.Disk.GetDiskState(s.ctx, &diskapi.GetDiskStateRequest{DiskNumber: d.Number})
	if err == nil {
		d.Online = new(state.GetIsOnline())
	}
	s.note(&d.Unknown, &d.Unanswered, "which disks are online", "whether "+name+" is online", err)
	volumes, err := s.client.Volume.ListVolumesOnDisk(s.ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: d.Number})
	if status.Code(err) != codes.FailedPrecondition { // offline, or nothing on it: then there are none
		s.note(&d.Unknown, &d.Unanswered, "volumes", "the volumes of "+name, err)
	}
	for _, id := range volumes.GetVolumeIds() {
		v := &Volume{ID: id}
		formatted, err := s.client.Volume.IsVolumeFormatted(s.ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
		s.note(&v.Unknown, &v.Unanswered, "whether "+id+" is formatted", "whether "+id+" is formatted", err)
		stats, err := s.client.Volume.GetVolumeStats(s.ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: id})
		s.note(&v.Unknown, &v.Unanswered, "the size of "+id, "the size of "+id, err)
		v.Formatted, v.TotalBytes, v.UsedBytes = formatted.GetFormatted(), stats.GetTotalBytes(), stats.GetUsedBytes()
		d.Partitions = append(d.Partitions, Partition{Volume: v})
	}
	return true
}
