// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// The size of a disk as it is attached, and after it was grown.
const (
	smallBytes      = 64 << 20
	crashGrownBytes = 128 << 20
)

// life is the life of one disk and its model: which steps the agent has acknowledged, and which have begun.
type life struct {
	name   string // also the disk's serial number
	acked  []string
	begun  []string
	id     string // of the volume, once ListVolumesOnDisk has returned it
	number uint32 // of the disk, when it was last looked up
}

// step is one action of a driver or the cloud. Do may be repeated whatever became of it before. Holds returns
// what is missing of a step that was acknowledged and that nothing has begun to undo.
type step struct {
	name     string
	do       func(ctx context.Context, c *crashClients, l *life) error
	holds    func(ctx context.Context, c *crashClients, l *life) error
	undoneBy string // the step after whose beginning it need not hold
}

func (l *life) staging() string {
	return `\var\lib\kubelet\plugins\kubernetes.io\csi\` + l.name + `\globalmount`
}
func (l *life) pod() string     { return `C:\var\lib\kubelet\pods\` + l.name }
func (l *life) publish() string { return l.pod() + `\mount` }
func (l *life) again() string   { return l.pod() + `-again` }
func (l *life) data() string    { return "the data of " + l.name }

// lastOfStage is the last step that kubelet repeats from the start when staging was interrupted.
const lastOfStage = "resize"

// steps returns the steps of a life from the first to the last.
func steps() []step {
	return []step{
		{"attach", crashAttach, hasDisk, "detach"},
		{"partition", crashPartition, hasVolume, "offline"},
		{"format", crashFormat, isFormatted, "offline"},
		{"mount", crashMountAt((*life).staging), isMountedAt((*life).staging), "unmount"},
		{"write", write, hasData((*life).staging), "unmount"},
		{"publish", crashPublish, isMountedAt((*life).publish), "unpublish"},
		{"grow", grow, isGrown, "detach"},
		{lastOfStage, crashResize, isResized, "offline"},
		{"unpublish", crashRmdir((*life).publish), isGone((*life).publish), ""},
		{"unmount", crashUnmount, isPlain((*life).staging), "remove"},
		{"remove", crashRmdir((*life).staging), isGone((*life).staging), ""},
		{"mount again", crashMountAt((*life).again), hasData((*life).again), "remove again"},
		{"remove again", crashRmdir((*life).again), isGone((*life).again), ""}, // a live mount point
		{"remove pod", crashRmdir((*life).pod), isGone((*life).pod), ""},
		{"offline", offline, isOffline, "detach"},
		{"detach", detach, hasNoDisk, ""},
	}
}

// live goes through the steps from the one at index from, up to until. It returns the first error.
func (l *life) live(ctx context.Context, c *crashClients, from int, until string) error {
	for _, s := range steps()[from:] {
		if !slices.Contains(l.begun, s.name) {
			l.begun = append(l.begun, s.name)
		}
		if err := s.do(ctx, c, l); err != nil {
			return fmt.Errorf("%s of %s: %w", s.name, l.name, err)
		}
		if !slices.Contains(l.acked, s.name) {
			l.acked = append(l.acked, s.name)
		}
		if s.name == until {
			break
		}
	}
	return nil
}

// intact returns what is missing of the acknowledged steps.
func (l *life) intact(ctx context.Context, c *crashClients) error {
	if slices.Contains(l.begun, "detach") && !slices.Contains(l.acked, "detach") {
		return nil // it may be there or not
	}
	for _, s := range steps() {
		if !slices.Contains(l.acked, s.name) || s.undoneBy != "" && slices.Contains(l.begun, s.undoneBy) {
			continue
		}
		if err := s.holds(ctx, c, l); err != nil {
			return fmt.Errorf("%s of %s was acknowledged: %w (acknowledged: %v, begun: %v)", s.name,
				l.name, err, l.acked, l.begun)
		}
	}
	return nil
}

// find looks up the disk by its serial number, as drivers do.
func (l *life) find(ctx context.Context, c *crashClients) (found bool, err error) {
	ids, err := c.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	for number, id := range ids.GetDiskIDs() {
		if id.GetSerialNumber() == l.name {
			l.number, found = number, true
		}
	}
	return found, err
}

func crashAttach(ctx context.Context, c *crashClients, l *life) error {
	found, err := l.find(ctx, c)
	if err != nil || found {
		return err
	}
	reply, err := c.admin.AttachDisk(ctx, &nodeapi.AttachDiskRequest{SizeBytes: smallBytes, SerialNumber: l.name,
		Offline: strings.HasSuffix(l.name, "1")})
	l.number = reply.GetDiskNumber()
	return err
}

func hasDisk(ctx context.Context, c *crashClients, l *life) error {
	found, err := l.find(ctx, c)
	if err == nil && !found {
		err = fmt.Errorf("its disk is missing")
	}
	return err
}

func hasNoDisk(ctx context.Context, c *crashClients, l *life) error {
	found, err := l.find(ctx, c)
	if err == nil && found {
		err = fmt.Errorf("its disk is still there")
	}
	return err
}

func crashPartition(ctx context.Context, c *crashClients, l *life) error {
	if _, err := c.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: l.number}); err != nil {
		return err
	}
	id, err := l.listVolume(ctx, c)
	if err == nil {
		l.id = id
	}
	return err
}

// listVolume asks for the volume of the disk, which never changes.
func (l *life) listVolume(ctx context.Context, c *crashClients) (string, error) {
	reply, err := c.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: l.number})
	if err != nil {
		return "", err
	}
	if ids := reply.GetVolumeIds(); len(ids) != 1 || l.id != "" && ids[0] != l.id {
		return "", fmt.Errorf("the disk has the volumes %q, want %q", ids, l.id)
	}
	return reply.GetVolumeIds()[0], nil
}

func hasVolume(ctx context.Context, c *crashClients, l *life) error {
	if err := hasDisk(ctx, c, l); err != nil {
		return err
	}
	_, err := l.listVolume(ctx, c)
	return err
}

func crashFormat(ctx context.Context, c *crashClients, l *life) error {
	reply, err := c.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeId: l.id})
	if err != nil {
		return err
	}
	if slices.Contains(l.acked, "format") && !reply.GetFormatted() {
		return fmt.Errorf("the formatted volume %s reads as unformatted", l.id)
	}
	if reply.GetFormatted() {
		return nil
	}
	_, err = c.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: l.id})
	return err
}

func isFormatted(ctx context.Context, c *crashClients, l *life) error {
	reply, err := c.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeId: l.id})
	if err == nil && !reply.GetFormatted() {
		err = fmt.Errorf("it is not formatted")
	}
	return err
}

func crashMountAt(path func(*life) string) func(context.Context, *crashClients, *life) error {
	return func(ctx context.Context, c *crashClients, l *life) error {
		_, err := c.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: l.id, TargetPath: path(l)})
		return err
	}
}

func isMountedAt(path func(*life) string) func(context.Context, *crashClients, *life) error {
	return func(ctx context.Context, c *crashClients, l *life) error {
		is, err := c.filesystem.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path(l)})
		if err != nil {
			return err
		}
		reply, err := c.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path(l)})
		if err == nil && (!is.GetIsSymlink() || reply.GetVolumeId() != l.id) {
			err = fmt.Errorf("at %s IsSymlink is %t and the volume is %s, want true and %s", path(l), is.GetIsSymlink(),
				reply.GetVolumeId(), l.id)
		}
		return err
	}
}

// hostFile returns the volume's file on the host, through a mount point.
func (l *life) hostFile(ctx context.Context, c *crashClients, at string) (string, error) {
	reply, err := c.admin.GetPath(ctx, &nodeapi.GetPathRequest{WindowsPath: at + `\data`})
	return reply.GetHostPath(), err
}

func write(ctx context.Context, c *crashClients, l *life) error {
	if slices.Contains(l.acked, "write") {
		return hasData((*life).staging)(ctx, c, l)
	}
	path, err := l.hostFile(ctx, c, l.staging())
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(l.data()), 0o600)
}

func hasData(at func(*life) string) func(context.Context, *crashClients, *life) error {
	return func(ctx context.Context, c *crashClients, l *life) error {
		path, err := l.hostFile(ctx, c, at(l))
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && string(content) != l.data() {
			err = fmt.Errorf("the file through %s reads %q, want %q", at(l), content, l.data())
		}
		return err
	}
}

// crashPublish first removes whatever is in the link's place and is not the link, as drivers do: an agent that died
// half-way leaves an empty directory there.
func crashPublish(ctx context.Context, c *crashClients, l *life) error {
	if isMountedAt((*life).publish)(ctx, c, l) == nil {
		return nil
	}
	if err := crashRmdir((*life).publish)(ctx, c, l); err != nil {
		return err
	}
	if _, err := c.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: l.pod()}); err != nil {
		return err
	}
	_, err := c.filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: l.staging(),
		TargetPath: l.publish()})
	return err
}

func grow(ctx context.Context, c *crashClients, l *life) error {
	_, err := c.admin.GrowDisk(ctx, &nodeapi.GrowDiskRequest{DiskNumber: l.number, SizeBytes: crashGrownBytes})
	return err
}

func isGrown(ctx context.Context, c *crashClients, l *life) error {
	if err := hasDisk(ctx, c, l); err != nil {
		return err
	}
	reply, err := c.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: l.number})
	if err == nil && reply.GetTotalBytes() != crashGrownBytes {
		err = fmt.Errorf("the disk has %d bytes, want %d", reply.GetTotalBytes(), crashGrownBytes)
	}
	return err
}

func crashResize(ctx context.Context, c *crashClients, l *life) error {
	_, err := c.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeId: l.id})
	return err
}

func isResized(ctx context.Context, c *crashClients, l *life) error {
	reply, err := c.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeId: l.id})
	if err == nil && reply.GetTotalBytes() < crashGrownBytes-32<<20 {
		err = fmt.Errorf("the file system has %d bytes on a disk of %d", reply.GetTotalBytes(), crashGrownBytes)
	}
	return err
}

func crashRmdir(path func(*life) string) func(context.Context, *crashClients, *life) error {
	return func(ctx context.Context, c *crashClients, l *life) error {
		_, err := c.filesystem.Rmdir(ctx,
			&filesystem.RmdirRequest{Path: "C:" + strings.TrimPrefix(path(l), "C:"), Force: true})
		return err
	}
}

func isGone(path func(*life) string) func(context.Context, *crashClients, *life) error {
	return func(ctx context.Context, c *crashClients, l *life) error {
		reply, err := c.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path(l)})
		if err == nil && reply.GetExists() {
			err = fmt.Errorf("%s exists", path(l))
		}
		return err
	}
}

func crashUnmount(ctx context.Context, c *crashClients, l *life) error {
	_, err := c.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeId: l.id, TargetPath: l.staging()})
	return err
}

func isPlain(path func(*life) string) func(context.Context, *crashClients, *life) error {
	return func(ctx context.Context, c *crashClients, l *life) error {
		_, err := c.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path(l)})
		if status.Code(err) == codes.NotFound {
			return nil
		}
		return fmt.Errorf("%s is not a plain directory: %w", path(l), err)
	}
}

func offline(ctx context.Context, c *crashClients, l *life) error {
	_, err := c.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: l.number, IsOnline: false})
	return err
}

func isOffline(ctx context.Context, c *crashClients, l *life) error {
	if err := hasDisk(ctx, c, l); err != nil {
		return err
	}
	reply, err := c.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: l.number})
	if err == nil && reply.GetIsOnline() {
		err = fmt.Errorf("the disk is online")
	}
	return err
}

func detach(ctx context.Context, c *crashClients, l *life) error {
	found, err := l.find(ctx, c)
	if err != nil || !found {
		return err
	}
	reply, err := c.admin.DetachDisk(ctx, &nodeapi.DetachDiskRequest{DiskNumber: l.number})
	if err == nil {
		err = os.Remove(reply.GetImagePath())
	}
	return err
}

// portrait returns the disk of a life as the agent shows it, without what differs in every life.
func (l *life) portrait(ctx context.Context, c *crashClients) (string, error) {
	tree, err := c.admin.GetTree(ctx, &admin.GetTreeRequest{})
	if err != nil {
		return "", err
	}
	for _, d := range tree.GetDisks() {
		if d.GetSerialNumber() != l.name {
			continue
		}
		d = proto.CloneOf(d)
		d.Number, d.Lun = 0, ""
		text := strings.Join(strings.Fields(prototext.Format(d)), " ") // prototext varies its blanks on purpose
		id := strings.ReplaceAll(l.id, `\`, `\\`)
		return strings.ReplaceAll(strings.ReplaceAll(text, id, "ID"), l.name, "NAME"), nil
	}
	return "", fmt.Errorf("the disk of %s is not in the tree", l.name)
}
