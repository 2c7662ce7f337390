// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// testTimeout is how long a condition may take on a slow machine before a test gives up.
const testTimeout = 5 * time.Minute

// site is a node on which agents come and go.
type site interface {
	// client returns a client that finds each agent of the node.
	client(t *testing.T) *loadClients
	// onFile hands a file of the node to a workload, past the agent.
	onFile(path string, work func(hostPath string) error) error
}

// A loadDriver stages, publishes and gives up volumes, one after the other: disks of its own, or directories of shares
// that other drivers use as well.
type loadDriver struct {
	node       site
	to         *loadClients
	claims     []*claim
	lifecycles int
	retries    int
}

// claim is what one driver uses: a disk by its serial number, or a share with this name for its file.
type claim struct {
	serial string
	share  string
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
func (d *loadDriver) life() []func(*caller.Calls, *claim) error {
	return []func(*caller.Calls, *claim) error{d.stage, d.publishVolume, d.work, d.unpublish, d.unstage}
}

// live uses a volume once.
func (d *loadDriver) live() error {
	c := d.claims[rand.IntN(len(d.claims))]
	for i, do := range d.life() {
		if err := d.perform(c, do); err != nil {
			return fmt.Errorf("call %d for %s: %w", i, c.serial, err)
		}
	}
	d.lifecycles++
	return nil
}

// perform calls an operation as kubelet does: again while it fails.
func (d *loadDriver) perform(c *claim, do func(*caller.Calls, *claim) error) error {
	for begin := time.Now(); ; d.retries++ {
		limited, cancel := context.WithTimeout(d.to.Context(), 20*time.Second)
		err := do(d.to.Within(limited), c)
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

func (d *loadDriver) stage(to *caller.Calls, c *claim) error {
	if c.share != "" {
		return to.StageShare(c.share, c.staging())
	}
	ids, err := to.ListDiskIDs()
	if err != nil {
		return err
	}
	found := false
	for number, id := range ids {
		if id.GetSerialNumber() == c.serial {
			c.number, found = number, true
		}
	}
	if !found {
		return errors.New("the disk is not listed")
	}
	if err := to.PartitionDisk(c.number); err != nil {
		return err
	}
	if err := to.SetDiskState(c.number, true); err != nil {
		return err
	}
	volumes, err := to.ListVolumesOnDisk(c.number)
	if err != nil {
		return err
	}
	if c.volume != "" && (len(volumes) != 1 || volumes[0] != c.volume) {
		return lost{fmt.Sprintf("disk %d has the volumes %q, want %s", c.number, volumes, c.volume)}
	}
	c.volume = volumes[0]
	formatted, err := to.IsVolumeFormatted(c.volume)
	if err == nil && !formatted {
		if c.stamp != "" {
			return lost{"a volume with data reads as unformatted"}
		}
		err = to.FormatVolume(c.volume)
	}
	if err != nil {
		return err
	}
	return to.MountVolume(c.volume, c.staging())
}

func (d *loadDriver) publishVolume(to *caller.Calls, c *claim) error {
	if err := d.unpublish(to, c); err != nil { // left by an earlier attempt
		return err
	}
	if err := to.Mkdir(c.pod()); err != nil {
		return err
	}
	return to.CreateSymlink(c.staging(), c.publish())
}

// work is the workload: it looks for what the last one wrote, and writes something else.
func (d *loadDriver) work(to *caller.Calls, c *claim) error {
	if c.share != "" { // its server never fails
		if there, err := to.IsSymlink(c.staging()); err != nil {
			return err
		} else if !there {
			return lost{c.staging() + " does not lead to its share any more"}
		}
	} else if id, err := to.GetVolumeIDFromTargetPath(c.publish()); err != nil {
		return err
	} else if id != c.volume {
		return lost{fmt.Sprintf("%s leads to volume %s, want %s", c.publish(), id, c.volume)}
	}
	return d.node.onFile(c.publish()+`\`+c.serial, func(path string) error {
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

func (d *loadDriver) unpublish(to *caller.Calls, c *claim) error { return to.Rmdir(c.publish(), true) }

func (d *loadDriver) unstage(to *caller.Calls, c *claim) error {
	if c.share != "" {
		return to.Unstage(c.staging())
	}
	if err := to.UnmountVolume(c.volume, c.staging()); err != nil {
		return err
	}
	if err := to.Rmdir(c.staging(), true); err != nil {
		return err
	}
	return to.SetDiskState(c.number, false)
}
