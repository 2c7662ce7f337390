// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// calls are a driver's means: the calls of its v1 clients, and its own file operations, each as a step.
type calls struct {
	*steps
	ctx        context.Context //nolint:containedctx // drivers pass the background context everywhere
	t          testing.TB
	node       *testnode.Node
	disk       *disk.Client
	filesystem *filesystem.Client
	volume     *volume.Client
}

func newCalls(t testing.TB, n *testnode.Node, i *interruption) *calls {
	t.Helper()
	return &calls{steps: &steps{interruption: i}, ctx: t.Context(), t: t, node: n,
		disk:       csiproxytest.Client(t, n.Node, disk.NewClientWithPipePath),
		filesystem: csiproxytest.Client(t, n.Node, filesystem.NewClientWithPipePath),
		volume:     csiproxytest.Client(t, n.Node, volume.NewClientWithPipePath)}
}

// withDrive normalises a path as drivers do, where they do.
func withDrive(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) {
		path = "c:" + path
	}
	return path
}

func parent(path string) string { return path[:strings.LastIndex(path, `\`)] }

func (c *calls) listDiskIDs() (map[uint32]*diskapi.DiskIDs, error) {
	reply, err := call(c, c.disk.ListDiskIDs, &diskapi.ListDiskIDsRequest{})
	return reply.GetDiskIDs(), err
}

func (c *calls) listDiskLocations() (map[uint32]*diskapi.DiskLocation, error) {
	reply, err := call(c, c.disk.ListDiskLocations, &diskapi.ListDiskLocationsRequest{})
	return reply.GetDiskLocations(), err
}

func (c *calls) biosSerial() (string, error) {
	reply, err := call(c, c.node.System.GetBIOSSerialNumber, &systemapi.GetBIOSSerialNumberRequest{})
	return reply.GetSerialNumber(), err
}

func (c *calls) rescan() error {
	return do(c, c.disk.Rescan, &diskapi.RescanRequest{})
}

func (c *calls) partitionDisk(number uint32) error {
	return do(c, c.disk.PartitionDisk, &diskapi.PartitionDiskRequest{DiskNumber: number})
}

func (c *calls) setDiskState(number uint32, online bool) error {
	return do(c, c.disk.SetDiskState, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
}

func (c *calls) diskSize(number uint32) (int64, error) {
	reply, err := call(c, c.disk.GetDiskStats, &diskapi.GetDiskStatsRequest{DiskNumber: number})
	return reply.GetTotalBytes(), err
}

func (c *calls) volumesOnDisk(number uint32) ([]string, error) {
	reply, err := call(c, c.volume.ListVolumesOnDisk, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
	return reply.GetVolumeIds(), err
}

func (c *calls) isFormatted(id string) (bool, error) {
	reply, err := call(c, c.volume.IsVolumeFormatted, &volumeapi.IsVolumeFormattedRequest{VolumeId: id})
	return reply.GetFormatted(), err
}

func (c *calls) format(id string) error {
	return do(c, c.volume.FormatVolume, &volumeapi.FormatVolumeRequest{VolumeId: id})
}

func (c *calls) mountVolume(id, path string) error {
	return do(c, c.volume.MountVolume, &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: path})
}

func (c *calls) unmountVolume(id, path string) error {
	return do(c, c.volume.UnmountVolume, &volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
}

func (c *calls) resize(id string) error {
	return do(c, c.volume.ResizeVolume, &volumeapi.ResizeVolumeRequest{VolumeId: id, SizeBytes: 0})
}

func (c *calls) writeCache(id string) error {
	return do(c, c.volume.WriteVolumeCache, &volumeapi.WriteVolumeCacheRequest{VolumeId: id})
}

func (c *calls) volumeStats(id string) (total, used int64, err error) {
	reply, err := call(c, c.volume.GetVolumeStats, &volumeapi.GetVolumeStatsRequest{VolumeId: id})
	return reply.GetTotalBytes(), reply.GetUsedBytes(), err
}

func (c *calls) volumeAt(path string) (string, error) {
	reply, err := call(c, c.volume.GetVolumeIDFromTargetPath,
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return reply.GetVolumeId(), err
}

// statsAt returns the size of the volume at a path, and what is used of it.
func (c *calls) statsAt(path string) (total, used int64, err error) {
	id, err := c.volumeAt(path)
	if err != nil {
		return 0, 0, err
	}
	return c.volumeStats(id)
}

func (c *calls) resizeAt(path string) error {
	id, err := c.volumeAt(path)
	if err != nil {
		return err
	}
	return c.resize(id)
}

func (c *calls) diskOfVolume(id string) (uint32, error) {
	reply, err := call(c, c.volume.GetDiskNumberFromVolumeID, &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	return reply.GetDiskNumber(), err
}

func (c *calls) pathExists(path string) (bool, error) {
	reply, err := call(c, c.filesystem.PathExists, &filesystemapi.PathExistsRequest{Path: path})
	return reply.GetExists(), err
}

func (c *calls) isSymlink(path string) (bool, error) {
	reply, err := call(c, c.filesystem.IsSymlink, &filesystemapi.IsSymlinkRequest{Path: path})
	return reply.GetIsSymlink(), err
}

func (c *calls) mkdir(path string) error {
	return do(c, c.filesystem.Mkdir, &filesystemapi.MkdirRequest{Path: path})
}

func (c *calls) removeIfThere(path string) error {
	exists, err := c.pathExists(path)
	if err != nil || !exists {
		return err
	}
	return c.rmdir(path)
}

// rmdir removes with force, as every driver does.
func (c *calls) rmdir(path string) error {
	return do(c, c.filesystem.Rmdir, &filesystemapi.RmdirRequest{Path: path, Force: true})
}

func (c *calls) createSymlink(source, target string) error {
	return do(c, c.filesystem.CreateSymlink,
		&filesystemapi.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
}

// dialDisk opens one more connection to the disk API, which is not closed before the driver ends.
func (c *calls) dialDisk() error {
	return c.step("dial", func() error {
		client, err := disk.NewClientWithPipePath(c.node.Socket("disk", "v1"))
		if err == nil {
			c.t.Cleanup(func() { _ = client.Close() })
			c.disk = client
		}
		return err
	})
}

// The following happens in the driver's container, which sees kubelet's directory.

func (c *calls) osMkdirAll(path string) error {
	return c.step("mkdirall", func() error { return mkdirAll(c.node, path) })
}

// onHost does something with a path of the node where the driver's container has it.
func (c *calls) onHost(name, path string, do func(host string) error) error {
	return c.step(name, func() error {
		host, err := c.node.Emulated.HostPath(withDrive(path))
		if err == nil {
			err = do(host)
		}
		return err
	})
}

func (c *calls) osReadDir(path string) error {
	return c.onHost("readdir", path, func(host string) error { _, err := os.ReadDir(host); return err })
}

// osLstat looks at a path without following a link at its end.
func (c *calls) osLstat(path string) error {
	return c.onHost("lstat", parent(withDrive(path)), func(dir string) error {
		_, err := os.Lstat(filepath.Join(dir, name(path)))
		return err
	})
}

// osRemove removes a directory or a link that is not followed.
func (c *calls) osRemove(path string) error {
	return c.onHost("remove", parent(withDrive(path)),
		func(dir string) error { return os.Remove(filepath.Join(dir, name(path))) })
}

// osStatfs asks for the size of the volume that a path leads to; on an emulated node it can only check that the path
// leads to a directory.
func (c *calls) osStatfs(path string) error {
	return c.onHost("statfs", path, func(host string) error { _, err := os.Stat(host); return err })
}

func name(path string) string { return path[strings.LastIndex(path, `\`)+1:] }

// mkdirAll makes a directory and its parents on the node, as a process there would.
func mkdirAll(n *testnode.Node, path string) error {
	components := strings.Split(withDrive(path), `\`)
	for i := 2; i <= len(components); i++ {
		host, err := n.Emulated.HostPath(strings.Join(components[:i], `\`))
		if err != nil {
			return err
		}
		if err := os.Mkdir(host, 0o755); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
