// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// testTimeout is how long a condition may take on a slow machine before a test gives up.
const testTimeout = 5 * time.Minute

// A loadDriver stages, publishes and gives up volumes on disks of its own, one after the other.
type loadDriver struct {
	node       *loadNode
	clients    *loadClients // nil after trouble: dialled again
	disks      []*claim
	lifecycles int
	retries    int
}

// claim is a disk that one driver uses.
type claim struct {
	serial string
	number uint32
	volume string
	stamp  string // what the last workload wrote, once it had finished
}

func (c *claim) staging() string {
	return `C:\var\lib\kubelet\plugins\load\` + c.serial + `\globalmount`
}
func (c *claim) pod() string     { return `C:\var\lib\kubelet\pods\` + c.serial }
func (c *claim) publish() string { return c.pod() + `\mount` }

// lost is data that is not as it was written. Nothing is retried after it.
type lost struct{ what string }

func (l lost) Error() string { return l.what }

// live uses a volume once.
func (d *loadDriver) live(ctx context.Context) error {
	c := d.disks[rand.IntN(len(d.disks))]
	for _, operation := range []struct {
		name string
		do   func(context.Context, *loadClients, *claim) error
	}{
		{"NodeStage", d.stage}, {"NodePublish", d.publishVolume}, {"work", d.work},
		{"NodeUnpublish", d.unpublish}, {"NodeUnstage", d.unstage},
	} {
		if err := d.perform(ctx, c, operation.do); err != nil {
			return fmt.Errorf("%s of %s: %w", operation.name, c.serial, err)
		}
	}
	d.lifecycles++
	return nil
}

// perform calls an operation as kubelet does: again while it fails.
func (d *loadDriver) perform(ctx context.Context, c *claim,
	do func(context.Context, *loadClients, *claim) error) error {
	for begin := time.Now(); ; d.retries++ {
		err := d.attempt(ctx, c, do)
		if loss := new(lost); err == nil || errors.As(err, loss) || time.Since(begin) > testTimeout {
			return err
		}
		if status.Code(err) == codes.Unavailable || errors.Is(err, errAway) {
			d.clients.close()
			d.clients = nil
			pause := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
			<-pause.C
		}
	}
}

func (d *loadDriver) attempt(ctx context.Context, c *claim,
	do func(context.Context, *loadClients, *claim) error) (err error) {
	if d.clients == nil {
		if d.clients, err = d.node.dial(); err != nil {
			return status.Error(codes.Unavailable, err.Error())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return do(ctx, d.clients, c)
}

func (d *loadDriver) stage(ctx context.Context, to *loadClients, c *claim) error {
	ids, err := to.disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
	if err != nil {
		return err
	}
	found := false
	for number, id := range ids.GetDiskIDs() {
		if id.GetSerialNumber() == c.serial {
			c.number, found = number, true
		}
	}
	if !found {
		return errors.New("the disk is not listed")
	}
	if _, err := to.disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: c.number}); err != nil {
		return err
	}
	if _, err := to.disk.SetDiskState(ctx,
		&diskapi.SetDiskStateRequest{DiskNumber: c.number, IsOnline: true}); err != nil {
		return err
	}
	volumes, err := to.volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: c.number})
	if err != nil {
		return err
	}
	if ids := volumes.GetVolumeIds(); c.volume != "" && (len(ids) != 1 || ids[0] != c.volume) {
		return lost{fmt.Sprintf("disk %d has the volumes %q, want %s", c.number, ids, c.volume)}
	}
	c.volume = volumes.GetVolumeIds()[0]
	formatted, err := to.volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: c.volume})
	if err != nil {
		return err
	}
	if !formatted.GetFormatted() {
		if c.stamp != "" {
			return lost{"a volume with data reads as unformatted"}
		}
		if _, err := to.volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: c.volume}); err != nil {
			return err
		}
	}
	_, err = to.volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: c.volume, TargetPath: c.staging()})
	return err
}

func (d *loadDriver) publishVolume(ctx context.Context, to *loadClients, c *claim) error {
	if err := d.unpublish(ctx, to, c); err != nil { // left by an earlier attempt
		return err
	}
	if _, err := to.filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: c.pod()}); err != nil {
		return err
	}
	_, err := to.filesystem.CreateSymlink(ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: c.staging(),
		TargetPath: c.publish()})
	return err
}

// work is the workload: it looks for what the last one wrote, and writes something else.
func (d *loadDriver) work(ctx context.Context, to *loadClients, c *claim) error {
	reply, err := to.volume.GetVolumeIDFromTargetPath(ctx,
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: c.publish()})
	if err != nil {
		return err
	}
	if reply.GetVolumeId() != c.volume {
		return lost{fmt.Sprintf("%s leads to volume %s, want %s", c.publish(), reply.GetVolumeId(), c.volume)}
	}
	return d.node.onNode(func(n *emulated.Node) error {
		path, err := n.HostPath(c.publish() + `\data`)
		if err != nil {
			return err
		}
		if c.stamp != "" {
			content, err := os.ReadFile(path)
			if err != nil || string(content) != c.stamp {
				return lost{fmt.Sprintf("the file of %s reads %q (%v), want %q", c.serial, content, err, c.stamp)}
			}
		}
		stamp := fmt.Sprintf("%s, life %d", c.serial, d.lifecycles)
		if err := os.WriteFile(path, []byte(stamp), 0o600); err != nil {
			return err
		}
		c.stamp = stamp
		return nil
	})
}

func (d *loadDriver) unpublish(ctx context.Context, to *loadClients, c *claim) error {
	_, err := to.filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: c.publish(), Force: true})
	return err
}

func (d *loadDriver) unstage(ctx context.Context, to *loadClients, c *claim) error {
	if _, err := to.volume.UnmountVolume(ctx,
		&volumeapi.UnmountVolumeRequest{VolumeId: c.volume, TargetPath: c.staging()}); err != nil {
		return err
	}
	if _, err := to.filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: c.staging(), Force: true}); err != nil {
		return err
	}
	_, err := to.disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: c.number, IsOnline: false})
	return err
}
