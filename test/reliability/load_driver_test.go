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
)

// testTimeout is how long a condition may take on a slow machine before a test gives up.
const testTimeout = 5 * time.Minute

// site is a node on which agents come and go.
type site interface {
	// client returns a client that finds each agent of the node.
	client() *loadClients
	// onFile hands a file of the node to a workload, past the agent.
	onFile(path string, work func(hostPath string) error) error
}

// A loadDriver stages, publishes and gives up volumes on disks of its own, one after the other.
type loadDriver struct {
	node       site
	to         *loadClients
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

// life is what becomes of a volume, call by call of kubelet.
func (d *loadDriver) life() []func(context.Context, *claim) error {
	return []func(context.Context, *claim) error{d.stage, d.publishVolume, d.work, d.unpublish, d.unstage}
}

// live uses a volume once.
func (d *loadDriver) live(ctx context.Context) error {
	c := d.disks[rand.IntN(len(d.disks))]
	for i, do := range d.life() {
		if err := d.perform(ctx, c, do); err != nil {
			return fmt.Errorf("call %d for %s: %w", i, c.serial, err)
		}
	}
	d.lifecycles++
	return nil
}

// perform calls an operation as kubelet does: again while it fails.
func (d *loadDriver) perform(ctx context.Context, c *claim, do func(context.Context, *claim) error) error {
	for begin := time.Now(); ; d.retries++ {
		limited, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := do(limited, c)
		cancel()
		if loss := new(lost); err == nil || errors.As(err, loss) || time.Since(begin) > testTimeout {
			return err
		}
		if status.Code(err) == codes.Unavailable {
			pause := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
			<-pause.C
		}
	}
}

func (d *loadDriver) stage(ctx context.Context, c *claim) error {
	ids, err := d.to.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{})
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
	if _, err := d.to.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: c.number}); err != nil {
		return err
	}
	if _, err := d.to.Disk.SetDiskState(ctx,
		&diskapi.SetDiskStateRequest{DiskNumber: c.number, IsOnline: true}); err != nil {
		return err
	}
	volumes, err := d.to.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: c.number})
	if err != nil {
		return err
	}
	if ids := volumes.GetVolumeIds(); c.volume != "" && (len(ids) != 1 || ids[0] != c.volume) {
		return lost{fmt.Sprintf("disk %d has the volumes %q, want %s", c.number, ids, c.volume)}
	}
	c.volume = volumes.GetVolumeIds()[0]
	formatted, err := d.to.Volume.IsVolumeFormatted(ctx, &volumeapi.IsVolumeFormattedRequest{VolumeId: c.volume})
	if err != nil {
		return err
	}
	if !formatted.GetFormatted() {
		if c.stamp != "" {
			return lost{"a volume with data reads as unformatted"}
		}
		if _, err := d.to.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: c.volume}); err != nil {
			return err
		}
	}
	_, err = d.to.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: c.volume, TargetPath: c.staging()})
	return err
}

func (d *loadDriver) publishVolume(ctx context.Context, c *claim) error {
	if err := d.unpublish(ctx, c); err != nil { // left by an earlier attempt
		return err
	}
	if _, err := d.to.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: c.pod()}); err != nil {
		return err
	}
	_, err := d.to.Filesystem.CreateSymlink(ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: c.staging(),
		TargetPath: c.publish()})
	return err
}

// work is the workload: it looks for what the last one wrote, and writes something else.
func (d *loadDriver) work(ctx context.Context, c *claim) error {
	reply, err := d.to.Volume.GetVolumeIDFromTargetPath(ctx,
		&volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: c.publish()})
	if err != nil {
		return err
	}
	if reply.GetVolumeId() != c.volume {
		return lost{fmt.Sprintf("%s leads to volume %s, want %s", c.publish(), reply.GetVolumeId(), c.volume)}
	}
	return d.node.onFile(c.publish()+`\data`, func(path string) error {
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

func (d *loadDriver) unpublish(ctx context.Context, c *claim) error {
	_, err := d.to.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: c.publish(), Force: true})
	return err
}

func (d *loadDriver) unstage(ctx context.Context, c *claim) error {
	if _, err := d.to.Volume.UnmountVolume(ctx,
		&volumeapi.UnmountVolumeRequest{VolumeId: c.volume, TargetPath: c.staging()}); err != nil {
		return err
	}
	if _, err := d.to.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: c.staging(), Force: true}); err != nil {
		return err
	}
	_, err := d.to.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: c.number, IsOnline: false})
	return err
}
