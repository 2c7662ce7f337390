// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// shareDriver makes the calls of the SMB driver's node service or, without removesMapping, of Azure File's. One of its
// calls may fail: it is not made, or its response is lost.
type shareDriver struct {
	t              *testing.T
	node           *testnode.Node
	removesMapping bool
	references     map[string]bool // the SMB driver's, by staging path

	before     func() // each call
	calls      []string
	fail       int // the index of the call that fails; -1: none
	late       bool
	withFaults bool // some call fails, the driver's or the kernel's
}

var (
	errLost  = status.Error(codes.Unavailable, "connection to the agent lost")
	errStuck = errors.New("no reference file")
)

func (d *shareDriver) call(name string, rpc func() error) error {
	number := len(d.calls)
	d.calls = append(d.calls, name)
	if d.before != nil {
		d.before()
	}
	if number != d.fail {
		return rpc()
	}
	d.withFaults = true
	if d.late {
		_ = rpc()
	}
	return errLost
}

func (d *shareDriver) exists(path string) (is bool, err error) {
	err = d.call("PathExists", func() error {
		r, err := d.node.Filesystem.PathExists(d.t.Context(), &fs.PathExistsRequest{Path: path})
		is = r.GetExists()
		return err
	})
	return is && err == nil, err
}

func (d *shareDriver) isSymlink(path string) (is bool, err error) {
	err = d.call("IsSymlink", func() error {
		r, err := d.node.Filesystem.IsSymlink(d.t.Context(), &fs.IsSymlinkRequest{Path: path})
		is = r.GetIsSymlink()
		return err
	})
	return is && err == nil, err
}

func (d *shareDriver) rmdir(path string) error {
	return d.call("Rmdir", func() error { return rmdir(d.t, d.node, path, true) })
}

// mounted looks at a target as the driver does: it returns true for a readable link, and removes anything else.
func (d *shareDriver) mounted(path string) (bool, error) {
	is, err := d.exists(path)
	if err != nil {
		return false, err
	}
	if is {
		if is, err = d.isSymlink(path); err != nil {
			return false, err
		}
		if is {
			if host, err := d.node.Emulated.HostPath(path); err == nil {
				if _, err = os.ReadDir(host); err == nil {
					return true, nil
				}
			}
		}
	}
	if is, err = d.exists(path); err != nil || !is {
		return false, err
	}
	return false, d.rmdir(path)
}

func (d *shareDriver) stage(remote, staging, password string) error {
	if is, err := d.mounted(staging); is || err != nil {
		return err
	}
	parent := staging[:strings.LastIndex(staging, `\`)]
	is, err := d.exists(parent)
	if err != nil {
		return err
	}
	if !is {
		if err := d.call("Mkdir", func() error {
			_, err := d.node.Filesystem.Mkdir(d.t.Context(), &fs.MkdirRequest{Path: parent})
			return err
		}); err != nil {
			return err
		}
	}
	d.references[staging] = true
	return d.call("NewSmbGlobalMapping", func() error { return mapShare(d.t, d.node, remote, staging, smbUser, password) })
}

func (d *shareDriver) publish(staging, publish string) error {
	if is, err := d.mounted(publish); is || err != nil {
		return err
	}
	return d.call("CreateSymlink", func() error {
		_, err := d.node.Filesystem.CreateSymlink(d.t.Context(),
			&fs.CreateSymlinkRequest{SourcePath: staging, TargetPath: publish})
		return err
	})
}

func (d *shareDriver) unstage(staging string) error {
	if d.removesMapping {
		target, err := d.node.Emulated.Readlink(staging) // os.Readlink in the driver's container
		if err == nil {
			if !d.references[staging] {
				return errStuck
			}
			delete(d.references, staging)
			parts := strings.SplitN(strings.TrimPrefix(target, `\\`), `\`, 3)
			if len(d.references) == 0 {
				if err := d.call("RemoveSmbGlobalMapping", func() error {
					_, err := d.node.SMB.RemoveSmbGlobalMapping(d.t.Context(),
						&smb.RemoveSmbGlobalMappingRequest{RemotePath: `\\` + parts[0] + `\` + parts[1]})
					return err
				}); err != nil {
					return err
				}
			}
		}
	}
	return d.rmdir(staging)
}

const (
	secondStaged = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\def\globalmount`
	firstRemote  = "//fs.emulated/share/pvc-1"
	secondRemote = "//fs.emulated/share/pvc-2"
)

// live takes two volumes, both on one share, through a life on a node: staged, published, used, given up. Failed calls
// are repeated, as kubelet does.
func (d *shareDriver) live() {
	d.t.Helper()
	for _, dir := range []string{"pvc-1", "pvc-2"} { // the controller makes them on the server
		noError(d.t, os.Mkdir(shareFile(d.node, "share", dir), 0o755))
	}
	stuck := false
	try := func(what string, f func() error) {
		d.t.Helper()
		var err error
		for range 3 {
			if err = f(); err == nil {
				return
			}
		}
		if errors.Is(err, errStuck) && d.withFaults {
			stuck = true // the SMB driver deletes its reference first: no agent can help when a later call fails
			return
		}
		d.t.Fatalf("%s does not recover: %v", what, err)
	}
	for i, staging := range []string{stagedShare, secondStaged} {
		d.kubeletMakes(staging)
		try("NodeStage", func() error { return d.stage([]string{firstRemote, secondRemote}[i], staging, smbPassword) })
		try("NodeStage again", func() error { return d.stage([]string{firstRemote, secondRemote}[i], staging, smbPassword) })
	}
	d.kubeletMakes(publish)
	try("NodePublish", func() error { return d.publish(stagedShare, publish) })
	try("NodePublish again", func() error { return d.publish(stagedShare, publish) })
	d.node.WriteFile(publish+`\data`, "first")
	d.node.WriteFile(secondStaged+`\data`, "second")
	wantMapped(d.t, d.node, share)

	try("NodeUnpublish", func() error { return d.rmdir(publish) })
	try("NodeUnpublish again", func() error { return d.rmdir(publish) })
	try("NodeUnstage", func() error { return d.unstage(stagedShare) })
	if d.node.ReadFile(secondStaged+`\data`) != "second" { // the other volume still works
		d.t.Error("the second volume has lost its data")
	}
	try("NodeUnstage", func() error { return d.unstage(secondStaged) })

	for name, want := range map[string]string{"pvc-1": "first", "pvc-2": "second"} {
		if got, err := os.ReadFile(shareFile(d.node, "share", name, "data")); err != nil || string(got) != want {
			d.t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if stuck {
		return
	}
	d.node.Faults.Release()
	for _, path := range []string{publish, stagedShare, secondStaged} {
		if exists(d.t, d.node, path) {
			d.t.Errorf("%s is still there", path)
		}
	}
	if d.removesMapping {
		wantMapped(d.t, d.node)
	}
}

// kubeletMakes makes a directory as kubelet does, without the agent.
func (d *shareDriver) kubeletMakes(path string) {
	d.t.Helper()
	below := strings.Split(path[strings.Index(path, `kubelet\`)+len(`kubelet\`):], `\`)
	noError(d.t, os.MkdirAll(filepath.Join(append([]string{d.node.HostPath(`C:\var\lib\kubelet`)}, below...)...), 0o755))
}

func newShareDriver(t *testing.T, removesMapping bool) *shareDriver {
	return newShareDriverOn(t, testnode.Options{}, removesMapping)
}

func newShareDriverOn(t *testing.T, o testnode.Options, removesMapping bool) *shareDriver {
	n := testnode.Start(t, o)
	n.Faults.Calls()
	return &shareDriver{t: t, node: n, removesMapping: removesMapping, references: map[string]bool{}, fail: -1}
}

// forBothDrivers runs a test for the SMB driver and for Azure File's.
func forBothDrivers(t *testing.T, test func(t *testing.T, removesMapping bool)) {
	t.Run("SMB", func(t *testing.T) { test(t, true) })
	t.Run("AzureFile", func(t *testing.T) { test(t, false) })
}

// Each call of a driver fails once, before it is made or after it took effect.
func TestShareDriversInterrupted(t *testing.T) {
	forBothDrivers(t, func(t *testing.T, removesMapping bool) {
		undisturbed := newShareDriver(t, removesMapping)
		undisturbed.live()
		for number, name := range undisturbed.calls {
			for i, late := range []bool{false, true} {
				if !testnode.Sampled(t, 2*number+i, 0, 3) {
					continue
				}
				t.Run(fmt.Sprintf("%02d %s, late=%t", number, name, late), func(t *testing.T) {
					t.Parallel()
					d := newShareDriver(t, removesMapping)
					d.fail, d.late = number, late
					d.live()
				})
			}
		}
	})
}

// Each kernel call of the agent fails once, before or after it took effect.
func TestShareDriversWithKernelFaults(t *testing.T) {
	const every = 59
	forBothDrivers(t, func(t *testing.T, removesMapping bool) {
		undisturbed := newShareDriver(t, removesMapping)
		undisturbed.live()
		calls := undisturbed.node.Faults.Calls()
		for number, call := range calls {
			smbCall := strings.Contains(call.Function, "SMB")
			for i, late := range []bool{false, true} {
				if !testnode.Sampled(t, 2*number+i, 0, every) && !(smbCall && testnode.Sampled(t, number+i, 0, 3)) {
					continue
				}
				fault := testnode.Fault{Function: call.Function, Code: call.Code, Skip: alike(calls[:number], call), Times: 1,
					Error: win32.ERROR_NOT_READY, After: late}
				t.Run(fmt.Sprintf("%03d %s %#x, late=%t", number, call.Function, call.Code, late), func(t *testing.T) {
					t.Parallel()
					d := newShareDriver(t, removesMapping)
					d.node.Faults.Add(fault)
					d.withFaults = true
					d.live()
				})
			}
		}
	})
}

func alike(calls []kernel.Call, call kernel.Call) int {
	n := 0
	for _, c := range calls {
		if c.Function == call.Function && (call.Code == 0 || c.Code == call.Code) {
			n++
		}
	}
	return n
}

// The drivers' next stage repairs what a reboot, a rotated password and a restarted server leave behind.
func TestShareDriversAfterTrouble(t *testing.T) {
	trouble := map[string]func(*testing.T, *testnode.Node) (password string){
		"reboot": func(_ *testing.T, n *testnode.Node) string { n.Reboot(); return smbPassword },
		"reboot without mappings": func(t *testing.T, n *testnode.Node) string {
			noError(t, n.Emulated.SetSwitch("mappingsOutliveReboot", "false"))
			n.Reboot()
			return smbPassword
		},
		"rotation": func(t *testing.T, n *testnode.Node) string {
			noError(t, n.Emulated.SetSMBPassword("csi", newPassword))
			return newPassword
		},
		"server restarted": func(t *testing.T, n *testnode.Node) string {
			noError(t, n.Emulated.StopSMBServer("fs.emulated"))
			noError(t, n.Emulated.StartSMBServer("fs.emulated"))
			return smbPassword
		},
		"unmapped by hand": func(t *testing.T, n *testnode.Node) string {
			noError(t, n.Emulated.RemoveSMBGlobalMapping(share))
			return smbPassword
		},
	}
	for name, cause := range trouble {
		t.Run(name, func(t *testing.T) {
			d := newShareDriver(t, true)
			noError(t, os.Mkdir(shareFile(d.node, "share", "pvc-1"), 0o755))
			noError(t, d.stage(firstRemote, stagedShare, smbPassword))
			d.node.WriteFile(stagedShare+`\data`, "x")
			password := cause(t, d.node)
			noError(t, d.stage(firstRemote, stagedShare, password))
			if d.node.ReadFile(stagedShare+`\data`) != "x" {
				t.Error("the data is gone")
			}
			noError(t, d.unstage(stagedShare))
			wantMapped(t, d.node)
		})
	}
}

// Trident stages at a path that it removes first, and unmaps by the server and the share behind one backslash.
func TestTrident(t *testing.T) {
	d := newShareDriver(t, true)
	d.kubeletMakes(stagedShare)
	d.kubeletMakes(publish)
	for range 2 {
		if there, err := d.exists(stagedShare); err != nil {
			t.Fatal(err)
		} else if there {
			noError(t, d.rmdir(stagedShare))
		}
		if there, err := d.exists(stagedParent); err != nil || !there {
			t.Fatalf("the parent: %t, %v", there, err)
		}
		noError(t, mapShare(t, d.node, share, stagedShare, smbUser, smbPassword))
		noError(t, d.rmdir(publish))
		noError(t, d.publish(stagedShare, publish))
	}
	d.node.WriteFile(publish+`\data`, "x")
	noError(t, d.rmdir(publish))
	for range 2 {
		noError(t, d.rmdir(stagedShare))
		noError(t, unmapShare(t, d.node, strings.ReplaceAll(`\`+"fs.emulated"+"/share", "/", `\`)))
		wantMapped(t, d.node)
	}
}
