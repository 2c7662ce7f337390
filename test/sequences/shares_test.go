// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// shareDriver makes the calls of the SMB driver's node service or, without removesMapping, of Azure File's.
type shareDriver struct {
	removesMapping bool
	references     map[string]bool // the SMB driver's, by staging path
}

// mounted looks at a target as the driver does: it returns true for a readable link, and removes anything else.
func (d *shareDriver) mounted(c *calls, path string) (bool, error) {
	is, err := c.PathExists(withDrive(path))
	if err != nil {
		return false, err
	}
	if is {
		if is, err = c.IsSymlink(withDrive(path)); err != nil {
			return false, err
		}
		if is && c.osReadDir(path) == nil {
			return true, nil
		}
	}
	return false, c.removeIfThere(withDrive(path))
}

func (d *shareDriver) stage(c *calls, remote, staging string) error {
	if is, err := d.mounted(c, staging); is || err != nil {
		return err
	}
	is, err := c.PathExists(withDrive(parent(staging)))
	if err == nil && !is {
		err = c.Mkdir(withDrive(parent(staging)))
	}
	if err != nil {
		return err
	}
	d.references[staging] = true
	return c.NewSmbGlobalMapping(remote, withDrive(staging), `AZURE\csi`, caller.Password)
}

func (d *shareDriver) publish(c *calls, staging, publish string) error {
	if is, err := d.mounted(c, publish); is || err != nil {
		return err
	}
	return c.CreateSymlink(withDrive(staging), withDrive(publish))
}

func (d *shareDriver) unstage(c *calls, staging string) error {
	target, err := c.node.Emulated.Readlink(staging) // os.Readlink in the driver's container
	if d.removesMapping && err == nil {
		if !d.references[staging] { // which the driver deletes before the calls that may fail
			return errStuck
		}
		delete(d.references, staging)
		parts := strings.SplitN(strings.TrimPrefix(target, `\\`), `\`, 3)
		if len(d.references) == 0 {
			if err := c.RemoveSmbGlobalMapping(`\\` + parts[0] + `\` + parts[1]); err != nil {
				return err
			}
		}
	}
	return c.rmdir(withDrive(staging))
}

// shareLife is the life of two volumes, both on one share.
type shareLife struct {
	*retriedLife
	driver *shareDriver
	stuck  bool
}

func newShareLife(t *testing.T, removesMapping bool, p *policy.Policy, d disturbance) *shareLife {
	t.Helper()
	l := &shareLife{retriedLife: newRetriedLife(t, testnode.Options{Policy: p}, d),
		driver: &shareDriver{removesMapping, map[string]bool{}}}
	return l
}

// file is a volume's directory on the server, or a file in it.
func (l *shareLife) file(names ...string) string {
	return filepath.Join(append([]string{l.node.StateDir, "shares", "fs.emulated", "share"}, names...)...)
}

// live stages, publishes, uses and gives up the volumes. Failed calls are repeated, as kubelet does.
func (l *shareLife) live() {
	l.t.Helper()
	const other = `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\1b2c\globalmount`
	volumes := [][2]string{{"pvc-1", staging}, {"pvc-2", other}}
	for _, v := range volumes {
		l.must(os.Mkdir(l.file(v[0]), 0o755)) // the controller makes them on the server
		l.must(mkdirAll(l.node.Node, v[1]))
	}
	twice := func(operation string, do func(c *calls) error) {
		l.t.Helper()
		for range 2 {
			l.retried(operation, do)
		}
	}
	for _, v := range volumes {
		twice("NodeStage", func(c *calls) error { return l.driver.stage(c, "//fs.emulated/share/"+v[0], v[1]) })
	}
	l.must(mkdirAll(l.node.Node, publish))
	twice("NodePublish", func(c *calls) error { return l.driver.publish(c, staging, publish) })
	l.node.WriteFile(publish+`\data`, "pvc-1")
	l.node.WriteFile(other+`\data`, "pvc-2")
	l.node.Mapped(caller.Share)

	twice("NodeUnpublish", func(c *calls) error { return c.rmdir(withDrive(publish)) })
	for _, path := range []string{staging, other} {
		l.node.Holds(other+`\data`, "pvc-2") // the other volume still works
		l.retried("NodeUnstage", func(c *calls) error {
			err := l.driver.unstage(c, path)
			if errors.Is(err, errStuck) && l.disturbed {
				l.stuck = true
				return nil
			}
			return err
		})
	}
	for _, v := range volumes {
		if got, err := os.ReadFile(l.file(v[0], "data")); err != nil || string(got) != v[0] {
			l.t.Errorf("%s holds %q, %v", v[0], got, err)
		}
	}
	if l.stuck {
		return
	}
	for _, path := range []string{publish, staging, other} {
		if newCalls(l.t, l.node.Node, nil).osLstat(path) == nil {
			l.t.Errorf("%s is still there", path)
		}
	}
	if l.driver.removesMapping {
		l.node.Mapped()
	}
}

// TestShareDrivers: whichever of a driver's calls fails once, before it is made or after it took effect, the drivers'
// retries repair it.
func TestShareDrivers(t *testing.T) {
	for name, removesMapping := range map[string]bool{"SMB": true, "AzureFile": false} {
		t.Run(name, func(t *testing.T) {
			live := func(t *testing.T, d disturbance) *shareLife {
				l := newShareLife(t, removesMapping, nil, d)
				l.live()
				return l
			}
			live(t, disturbance{}).again(t, 0, 4, func(t *testing.T, d disturbance) { live(t, d) })
		})
	}
}

// Trident stages at a path that it removes first, and unmaps by the server and the share behind one backslash.
func TestTrident(t *testing.T) {
	l := newShareLife(t, true, nil, disturbance{})
	for range 2 {
		l.must(mkdirAll(l.node.Node, staging))
		l.must(l.calls.removeIfThere(withDrive(staging)))
		l.must(l.node.Map(caller.Share, staging))
		l.must(l.node.Rmdir(publish, true))
		l.must(mkdirAll(l.node.Node, parent(publish)))
		l.must(l.calls.CreateSymlink(withDrive(staging), publish))
	}
	l.node.WriteFile(publish+`\data`, "x")
	l.must(l.node.Rmdir(publish, true))
	for range 2 {
		l.must(l.node.Rmdir(staging, true))
		l.must(l.node.RemoveSmbGlobalMapping(`\fs.emulated\share`))
		l.node.Mapped()
	}
}
