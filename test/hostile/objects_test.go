// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// objectRead is a read of an object that hangs and of another one of the kind.
type objectRead struct {
	name        string
	hangs       csiproxytest.Calls // the kernel calls for the first object
	dead, other func(ctx context.Context) error
}

// answerLimit is the deadline of calls that are answered, however busy the machine is; what hangs is never answered.
const answerLimit = time.Minute

// Every read of an object that hangs is refused in the end, while the same read of another object is always answered.
func TestHungObjectBlocksNoOther(t *testing.T) {
	for i, l := range newLooks(t).all() {
		if !testnode.Sampled(t, i, 0, 1) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			n := newLooks(t)
			var me objectRead
			for _, candidate := range n.all() {
				if candidate.name == l.name {
					me = candidate
				}
			}
			if err := me.dead(t.Context()); err != nil {
				t.Fatalf("before anything hangs: %v", err)
			}
			_, release := n.Hang(me.hangs)
			defer release()
			refused := func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				err := me.dead(ctx)
				return codeOf(err) == codes.Unavailable && reason(err) == "NOT_ANSWERING"
			}
			eventually(t, "reads of what hangs are refused", func() bool {
				if err := me.other(t.Context()); err != nil {
					t.Fatalf("another object: %v", err)
				}
				return refused()
			})
			if err := me.other(t.Context()); err != nil {
				t.Errorf("another object: %v", err)
			}
			release()
			eventually(t, "it is answered again", func() bool { return me.dead(t.Context()) == nil })
		})
	}
}

// When a call asks every disk or volume, one that hangs is left out, and the call is answered.
func TestListingsOmitHungObjects(t *testing.T) {
	t.Parallel()
	n := newLooks(t)
	_, release := n.Hang(csiproxytest.Calls{Function: "DeviceIoControl", Object: "prod_disk#1"})
	defer release()
	_, releaseVolume := n.Hang(csiproxytest.Calls{Function: "OpenDevice", Object: n.volume})
	defer releaseVolume()
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	ids, err := n.Disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	noError(t, err)
	if _, listed := ids.GetDiskIDs()[1]; listed || len(ids.GetDiskIDs()) != 2 {
		t.Errorf("ListDiskIDs lists %v, want the disks 0 and 2", ids.GetDiskIDs())
	}
	ctx, cancel = context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	locations, err := n.Disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	noError(t, err)
	if len(locations.GetDiskLocations()) != 2 {
		t.Errorf("ListDiskLocations lists %v, want the disks 0 and 2", locations.GetDiskLocations())
	}
	ctx, cancel = context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	_, err = n.Disk.Rescan(ctx, &disk.RescanRequest{})
	noError(t, err)
	_, err = n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 0})
	noError(t, err)
	if tree := n.Tree(); len(tree.GetDisks()) != 2 {
		t.Errorf("the tree has %d disks, want 2", len(tree.GetDisks()))
	}
}

// Many listings at once leave out a disk that hangs as one alone does: those that find its places taken by calls that
// hang wait no longer for it than these. Nothing of them is left, and later listings are answered.
func TestListingsBesideAHungDisk(t *testing.T) {
	t.Parallel()
	n := attack(t, testnode.Options{})
	_, release := n.Hang(csiproxytest.Calls{Function: "DeviceIoControl", Object: "prod_disk#1"})
	defer release()
	var listings sync.WaitGroup
	for range 20 {
		listings.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
			defer cancel()
			ids, err := n.Disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
			if _, listed := ids.GetDiskIDs()[1]; err != nil || listed || len(ids.GetDiskIDs()) != 2 {
				t.Errorf("ListDiskIDs lists %v, %v, want the disks 0 and 2", ids.GetDiskIDs(), err)
			}
		})
	}
	listings.Wait()
	eventually(t, "no listing is left", func() bool {
		r, err := n.admin.Inspect(t.Context(), &admin.InspectRequest{})
		noError(t, err)
		return !slices.ContainsFunc(r.GetOperations(), func(o *admin.Operation) bool { return o.GetName() == "ListDiskIDs" })
	})
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	_, err := n.Disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	noError(t, err)
}

// looks is an attacked node with two of everything: disks, volumes, mount points, shares, targets.
type looks struct {
	*target
	second string // another volume
}

func newLooks(t *testing.T) *looks {
	t.Helper()
	g := attack(t, testnode.Options{})
	n := &looks{target: g, second: g.system}
	for _, share := range []string{"share", "other"} {
		_, err := g.SMB.NewSmbGlobalMapping(t.Context(), &smb.NewSmbGlobalMappingRequest{
			RemotePath: `\\fs.emulated\` + share, LocalPath: pods + `\to-` + share, Username: "csi", Password: "csi-password",
		})
		noError(t, err)
	}
	for _, path := range []string{`\one`, `\two`} {
		_, err := g.Filesystem.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: pods + path})
		noError(t, err)
	}
	return n
}

func (n *looks) all() []objectRead {
	diskCall := func(call func(ctx context.Context, number uint32) error) (dead, other func(context.Context) error) {
		return func(ctx context.Context) error { return call(ctx, 1) },
			func(ctx context.Context) error { return call(ctx, 0) }
	}
	volumeCall := func(call func(ctx context.Context, id string) error) (dead, other func(context.Context) error) {
		return func(ctx context.Context) error { return call(ctx, n.volume) },
			func(ctx context.Context) error { return call(ctx, n.second) }
	}
	pathCall := func(dead, other string, call func(ctx context.Context, path string) error) (func(context.Context) error,
		func(context.Context) error) {
		return func(ctx context.Context) error { return call(ctx, dead) },
			func(ctx context.Context) error { return call(ctx, other) }
	}
	var all []objectRead
	add := func(name, function, object string, dead, other func(context.Context) error) {
		all = append(all, objectRead{name, csiproxytest.Calls{Function: function, Object: object}, dead, other})
	}

	dead, other := diskCall(func(ctx context.Context, number uint32) error {
		_, err := n.Disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
		return err
	})
	add("GetDiskStats", "OpenDevice", "physicaldrive1", dead, other)
	dead, other = diskCall(func(ctx context.Context, number uint32) error {
		_, err := n.Disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
		return err
	})
	add("GetDiskState", "DeviceIoControl", "physicaldrive1", dead, other)
	dead, other = diskCall(func(ctx context.Context, number uint32) error {
		_, err := n.Volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		return err
	})
	add("ListVolumesOnDisk", "OpenDevice", "physicaldrive1", dead, other)

	dead, other = volumeCall(func(ctx context.Context, id string) error {
		_, err := n.Volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeId: id})
		return err
	})
	add("GetVolumeStats", "DiskFreeSpace", n.volume, dead, other)
	dead, other = volumeCall(func(ctx context.Context, id string) error {
		_, err := n.Volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeId: id})
		return err
	})
	add("IsVolumeFormatted", "VolumeInformation", n.volume, dead, other)
	dead, other = volumeCall(func(ctx context.Context, id string) error {
		_, err := n.Volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
		return err
	})
	add("GetDiskNumberFromVolumeID", "DeviceIoControl", n.volume[len(`\\?\`):len(n.volume)-1], dead, other)

	exists := func(ctx context.Context, path string) error {
		_, err := n.Filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
		return err
	}
	dead, other = pathCall(pods+`\one`, pods+`\two`, exists)
	add("PathExists", "OpenFile", `pods\one`, dead, other)
	dead, other = pathCall(pods+`\to-share\below`, pods+`\to-other\below`, exists)
	add("PathExists on a share", "OpenFile", `UNC\fs.emulated\share`, dead, other)
	dead, other = pathCall(mount+`\below`, pods+`\two`, exists)
	add("PathExists in a volume", "OpenFile", n.volume, dead, other)
	dead, other = pathCall(mount, pods+`\two`, func(ctx context.Context, path string) error {
		_, err := n.Filesystem.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
		return err
	})
	add("IsSymlink", "OpenFile", `victim\mount`, dead, other)
	closest := func(ctx context.Context, path string) error {
		_, err := n.Volume.GetClosestVolumeIDFromTargetPath(ctx,
			&volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
		return err
	}
	dead, other = pathCall(pods+`\one`, pods+`\two`, closest)
	add("GetClosestVolumeIDFromTargetPath", "FinalPath", `pods\one`, dead, other)
	dead, other = pathCall(mount, pods+`\two`, func(ctx context.Context, path string) error {
		_, err := n.Volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
		if codeOf(err) == codes.NotFound {
			return nil // nothing is mounted there: an answer
		}
		return err
	})
	add("GetVolumeIDFromTargetPath", "OpenFile", `victim\mount`, dead, other)

	dead, other = pathCall("LanmanWorkstation", "MSiSCSI", func(ctx context.Context, name string) error {
		_, err := n.System.GetService(ctx, &system.GetServiceRequest{Name: name})
		return err
	})
	add("GetService", "QueryService", "LanmanWorkstation", dead, other)

	dead = func(ctx context.Context) error {
		_, err := n.ISCSI.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
		return err
	}
	other = func(ctx context.Context) error { return exists(ctx, pods+`\two`) }
	add("ListTargetPortals", "ReportISCSISendTargetPortals", "", dead, other)
	return all
}
