// SPDX-License-Identifier: Apache-2.0

package published

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	mount "k8s.io/mount-utils"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// Paths as kubelet gives them to a driver: the one without a drive, the other with slashes.
const (
	staging = `\var\lib\kubelet\plugins\kubernetes.io\csi\example\globalmount`
	publish = `c:/var/lib/kubelet/pods/1234/volumes/kubernetes.io~csi/pv/mount`
	serial  = "vol0123456789abcdef1"
)

// start returns a mounter on a new emulated node.
func start(t *testing.T) (*testnode.Node, *mounter.Mounter) {
	t.Helper()
	n := testnode.Start(t, testnode.Options{})
	return n, mounter.New(n.Client())
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestVolumeLife is a driver's whole work on a disk. Each step is one call of the agent, and can be repeated.
func TestVolumeLife(t *testing.T) {
	n, m := start(t)
	ctx := t.Context()
	var volume mounter.Volume
	var size mounter.Size
	for _, step := range []struct {
		method string
		do     func() error
	}{
		{"StageDisk", func() error {
			_, err := m.StageDisk(ctx, mounter.BySerialNumber(strings.ToUpper(serial)), staging, mounter.StageOptions{})
			return err
		}},
		{"Publish", func() error { return m.Publish(ctx, staging, publish) }},
		{"GetVolume", func() (err error) { volume, err = m.GetVolume(ctx, publish); return err }},
		{"Expand", func() (err error) { n.GrowDisk(1, 12<<30); size, err = m.Expand(ctx, publish, 12<<30); return err }},
		{"Unstage", func() error { return m.Unstage(ctx, publish) }},
		{"Unstage", func() error { return m.Unstage(ctx, staging) }},
	} {
		for range 2 {
			before := n.Newest()
			check(t, step.method, step.do())
			var calls []string
			for _, e := range n.Find(csiproxytest.Query{After: before, Method: "*"}) {
				if e.GetApi() != nil {
					calls = append(calls, e.GetApi().GetMethod())
				}
			}
			if !slices.Equal(calls, []string{"/csiproxy.nodesteps.v1alpha1.NodeSteps/" + step.method}) {
				t.Errorf("%s is the calls %q", step.method, calls)
			}
		}
		if step.method == "Publish" {
			n.WriteFile(publish+`\data`, "precious")
		}
	}
	if volume.Available != volume.Total-volume.Used || size.Disk != 12<<30 ||
		size.FileSystem < volume.Total+2<<30-1<<20 || volume.SizeErr != nil {
		t.Errorf("the volume had %+v and has %+v after its disk grew by 2 GiB", volume, size)
	}
	for _, path := range []string{staging, publish} {
		if _, err := m.IsMountPoint(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("IsMountPoint(%s) = %v afterwards, want fs.ErrNotExist", path, err)
		}
	}
	if n.Tree().Disks[1].IsOnline() {
		t.Error("the disk is still online")
	}
	check(t, "staging anew", m.FormatAndMount("1", staging, "ntfs", nil))
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume came back with %q", got)
	}
}

// TestMount: the mounter can take the place of mount.New in a driver. Only what is no mount and has content stays.
func TestMount(t *testing.T) {
	n, m := start(t)
	var i mount.Interface = m
	check(t, "staging", m.FormatAndMount("1", staging, "", nil))
	n.WriteFile(staging+`\data`, "precious")
	for name, place := range map[string]func() error{
		"nothing":             func() error { return nil },
		"kubelet's own":       func() error { return m.Mkdir(t.Context(), publish) },
		"the same link":       func() error { return i.Mount(staging, publish, "", []string{"ro"}) },
		"another link":        func() error { return i.Mount(`C:\var\lib\kubelet\plugins`, publish, "", nil) },
		"a link to nowhere":   func() error { return m.Publish(t.Context(), `C:\var\lib\kubelet\plugins\none`, publish) },
		"another volume":      func() error { return m.FormatAndMount("2", publish, "", nil) },
		"the volume, mounted": func() error { return m.FormatAndMount("1", publish, "", nil) },
	} {
		check(t, name, place())
		check(t, "publishing over "+name, i.Mount(staging, publish, "", nil))
		if got := n.ReadFile(publish + `\data`); got != "precious" {
			t.Errorf("published over %s, the volume holds %q", name, got)
		}
		for _, path := range []string{staging, publish} {
			if not, err := i.IsLikelyNotMountPoint(path); not || err != nil {
				t.Errorf("IsLikelyNotMountPoint(%s) = %v, %v, want false", path, not, err)
			}
		}
		for range 2 {
			check(t, "unmounting", i.Unmount(publish))
		}
	}
	if refs, err := i.GetMountRefs(staging); err != nil || len(refs) != 1 {
		t.Errorf("GetMountRefs = %q, %v, want the path itself", refs, err)
	}
	if refs, err := i.GetMountRefs(publish); err != nil || len(refs) != 0 {
		t.Errorf("GetMountRefs of nothing = %q, %v, want none", refs, err)
	}

	check(t, "making a directory", m.Mkdir(t.Context(), publish))
	n.WriteFile(publish+`\file`, "precious")
	for what, refused := range map[string]func() error{
		"unmounting": func() error { return i.Unmount(publish) },
		"mounting":   func() error { return i.Mount(staging, publish, "", nil) },
		"publishing": func() error { return m.Publish(t.Context(), staging, publish) },
		"unstaging":  func() error { return m.Unstage(t.Context(), publish) },
	} {
		if err := refused(); !errors.Is(err, csiproxy.ErrDirectoryNotEmpty) || n.ReadFile(publish+`\file`) != "precious" {
			t.Errorf("%s where a directory has content: %v, want ErrDirectoryNotEmpty", what, err)
		}
	}
	check(t, "CleanupMountPoint", mount.CleanupMountPoint(staging, i, true))
}

// TestFormatAndMountArguments: what Windows nodes do not have is refused.
func TestFormatAndMountArguments(t *testing.T) {
	n, m := start(t)
	wants := map[string]error{"no disk": csiproxy.ErrDiskNotFound, "read-only": csiproxy.ErrNotFormatted}
	for name, call := range map[string]func() error{
		"no disk":        func() error { return m.FormatAndMount("77", publish, "", nil) },
		"no number":      func() error { return m.FormatAndMount("one", publish, "", nil) },
		"another system": func() error { return m.FormatAndMount("1", publish, "ext4", nil) },
		"format options": func() error {
			return m.FormatAndMountSensitiveWithFormatOptions("1", publish, "", nil, nil, []string{"/A:64K"})
		},
		"an option": func() error { return m.FormatAndMount("1", publish, "", []string{"rw,noexec"}) },
		"a secret":  func() error { return m.FormatAndMountSensitive("1", publish, "", nil, []string{"hunter2"}) },
		"read-only": func() error { return m.FormatAndMount("1", publish, "", []string{"defaults", "ro"}) },
	} {
		err := call()
		if want := wants[name]; !errors.Is(err, cmp.Or(want, fs.ErrInvalid)) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		if n.Tree().Disks[1].Style != "RAW" {
			t.Errorf("%s: the disk was changed", name)
		}
	}
}

// TestMountShare: a share is mapped with the options as every driver spells them.
func TestMountShare(t *testing.T) {
	n, m := start(t)
	for name, options := range map[string]struct{ plain, sensitive []string }{
		"names":       {nil, []string{"username=csi", "password=csi-password"}},
		"one option":  {[]string{"vers=3.0"}, []string{"username=csi,password=csi-password"}},
		"with domain": {[]string{"domain=EMULATED"}, []string{"username=csi", "password=csi-password"}},
		"positions":   {[]string{`AZURE\csi`}, []string{"csi-password"}},
	} {
		check(t, name, m.MountSensitive("//fs.emulated/share", publish, "cifs", options.plain, options.sensitive))
		n.WriteFile(publish+`\from`, name)
		if got := n.ReadFile(publish + `\from`); got != name {
			t.Errorf("%s: the share holds %q", name, got)
		}
		check(t, "unmounting", m.Unmount(publish))
		_, err := n.SMB.RemoveSmbGlobalMapping(t.Context(),
			&csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: `\\fs.emulated\share`})
		check(t, "unmapping", err)
	}

	err := m.MountSensitive(`\\fs.emulated\share`, publish, "", nil, []string{"username=csi", "password=hunter2"})
	if !errors.Is(err, csiproxy.ErrCredentials) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong password: %v, want ErrCredentials and no password", err)
	}
}
