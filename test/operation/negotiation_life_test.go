// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"fmt"
	"strings"

	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The path of the life's volume, and the paths that it leaves alone.
const (
	pods    = `C:\var\lib\kubelet\pods\negotiation`
	staging = `C:\var\lib\kubelet\plugins\negotiation\globalmount`
	freshID = uint32(1) // the number of the blank disk of the default scenario
)

// A step is one call of a volume's life and its result, in words that do not change from node to node.
type step struct {
	name string
	call func(*life) (any, error)
}

// life is the state that the steps share.
type life struct {
	*caller.Calls
	client *csiproxy.Client
	volume string
}

// outcome formats the step's result as a line: the answer, or the kind of failure.
func (s step) outcome(l *life) string {
	answer, err := s.call(l)
	var e *csiproxy.Error
	switch {
	case err == nil && answer == nil:
		return "OK"
	case err == nil:
		return fmt.Sprint("OK ", answer)
	case errors.Is(err, csiproxy.ErrUnsupported) && errors.As(err, &e):
		return "unsupported: " + e.Message
	case errors.As(err, &e):
		return fmt.Sprintf("%v %s", e.Code, e.Reason)
	default:
		return "untyped: " + err.Error()
	}
}

// lifeSteps calls every method of every group at least once, in the order in which a driver would, with repeats and
// failures among them.
func lifeSteps() []step {
	mount := func(l *life) (any, error) { return nil, l.MountVolume(l.volume, staging) }
	link := func(l *life) (any, error) { return nil, l.CreateSymlink(staging, pods+`\mount`) }
	formatted := func(l *life) (any, error) { return l.IsVolumeFormatted(l.volume) }
	volumeAt := func(l *life) (any, error) {
		id, err := l.GetVolumeIDFromTargetPath(staging)
		return id == l.volume, err
	}
	return []step{
		{"rescan", func(l *life) (any, error) { return nil, l.Rescan() }},
		{"ids of the disks", func(l *life) (any, error) {
			ids, err := l.ListDiskIDs()
			return fmt.Sprint(len(ids), ids[freshID].GetPage83(), ids[freshID].GetSerialNumber()), err
		}},
		{"locations of the disks", func(l *life) (any, error) {
			locations, err := l.ListDiskLocations()
			return fmt.Sprint(len(locations), locations[freshID].GetLUNID()), err
		}},
		{"volumes of a raw disk", func(l *life) (any, error) { _, err := l.ListVolumesOnDisk(freshID); return nil, err }},
		{"partition", func(l *life) (any, error) { return nil, l.PartitionDisk(freshID) }},
		{"online", func(l *life) (any, error) { return nil, l.SetDiskState(freshID, true) }},
		{"state of the disk", func(l *life) (any, error) { return l.GetDiskState(freshID) }},
		{"size of the disk", func(l *life) (any, error) { return l.GetDiskStats(freshID) }},
		{"size of a disk that is not there", func(l *life) (any, error) { return l.GetDiskStats(77) }},
		{"volumes of one partition", func(l *life) (any, error) {
			r, err := l.client.Volume.ListVolumesOnDisk(l.Context(),
				&volumeapi.ListVolumesOnDiskRequest{DiskNumber: freshID, PartitionNumber: 2})
			return len(r.GetVolumeIds()), err
		}},
		{"volumes of the disk", func(l *life) (any, error) {
			ids, err := l.ListVolumesOnDisk(freshID)
			l.volume = strings.Join(ids, "")
			return len(ids), err
		}},
		{"formatted before", formatted},
		{"format", func(l *life) (any, error) { return nil, l.FormatVolume(l.volume) }},
		{"formatted after", formatted},
		{"nothing mounted", volumeAt},
		{"directory", func(l *life) (any, error) { return nil, l.Mkdir(staging) }},
		{"directory outside", func(l *life) (any, error) { return nil, l.Mkdir(`C:\elsewhere`) }},
		{"mount", mount},
		{"mount again", mount},
		{"volume at the mount point", volumeAt},
		{"closest volume", func(l *life) (any, error) {
			id, err := l.GetClosestVolumeIDFromTargetPath(staging)
			return id == l.volume, err
		}},
		{"disk of the volume", func(l *life) (any, error) { return l.GetDiskNumberFromVolumeID(l.volume) }},
		{"stats", func(l *life) (any, error) {
			total, used, err := l.GetVolumeStats(l.volume)
			return fmt.Sprint(total, used), err
		}},
		{"resize", func(l *life) (any, error) { return nil, l.ResizeVolume(l.volume, 0) }},
		{"write cache", func(l *life) (any, error) { return nil, l.WriteVolumeCache(l.volume) }},
		{"parent of the link", func(l *life) (any, error) { return nil, l.Mkdir(pods) }},
		{"link", link},
		{"the same link again", link},
		{"is it a link", func(l *life) (any, error) { return l.IsSymlink(pods + `\mount`) }},
		{"is a missing path a link", func(l *life) (any, error) { return l.IsSymlink(pods + `\missing`) }},
		{"a path that is not there", func(l *life) (any, error) { return l.PathExists(pods + `\missing`) }},
		{"a path outside", func(l *life) (any, error) { return l.PathExists(`C:\Windows`) }},
		{"remove a directory that is not empty", func(l *life) (any, error) { return nil, l.Rmdir(pods, false) }},
		{"remove the link", func(l *life) (any, error) { return nil, l.Rmdir(pods+`\mount`, true) }},
		{"clear the directory", func(l *life) (any, error) { return nil, l.RmdirContents(pods) }},
		{"unmount", func(l *life) (any, error) { return nil, l.UnmountVolume(l.volume, staging) }},
		{"offline", func(l *life) (any, error) { return nil, l.SetDiskState(freshID, false) }},
		{"map a share with a wrong password", func(l *life) (any, error) {
			return nil, l.NewSmbGlobalMapping(caller.Share, "", caller.User, "wrong")
		}},
		{"map a share", func(l *life) (any, error) { return nil, l.Map(caller.Share, pods+`\share`) }},
		{"remove the mapping", func(l *life) (any, error) { return nil, l.RemoveSmbGlobalMapping(caller.Share) }},
		{"add a portal", func(l *life) (any, error) { return nil, l.AddTargetPortal(caller.Array) }},
		{"discover", func(l *life) (any, error) { return l.DiscoverTargetPortal(caller.Array) }},
		{"mutual secret", func(l *life) (any, error) { return nil, l.SetMutualChapSecret("mutual-secret1") }},
		{"log in without CHAP", func(l *life) (any, error) { return nil, l.ConnectTarget(caller.CHAPTarget) }},
		{"serial number", func(l *life) (any, error) { return l.GetBIOSSerialNumber() }},
		{"a service", func(l *life) (any, error) { return l.GetService("MSiSCSI") }},
	}
}
