// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// Where kubelet has volumes staged and published.
const (
	stage    = KubeletDir + `\plugins\kubernetes.io\csi\driver\1\globalmount`
	stage2   = KubeletDir + `\plugins\kubernetes.io\csi\driver\2\globalmount`
	publish  = KubeletDir + `\pods\uid\volumes\kubernetes.io~csi\pv\mount`
	publish2 = KubeletDir + `\pods\uid2\volumes\kubernetes.io~csi\pv\mount`
)

// unpublishedNode is a node on which volumes are staged and published.
type unpublishedNode struct {
	*testing.T
	*Node
	kernel  *emulated.Node
	volumes [2]string
	dirs    []string
	denied  string // the end of what cannot be opened
	code    win32.Errno
}

func (u *unpublishedNode) do(errs ...error) {
	u.Helper()
	if err := errors.Join(errs...); err != nil {
		u.Fatal(err)
	}
}

// mount mounts a volume where kubelet has made the directory above.
func (u *unpublishedNode) mount(volume int, at string) {
	u.Helper()
	u.do(by(u.Context(), u.Node).MountVolume(u.volumes[volume], at))
}

func (u *unpublishedNode) share(at string) {
	u.Helper()
	parent := at[:strings.LastIndexByte(at, '\\')]
	u.do(by(u.Context(), u.Node).Mkdir(parent),
		by(u.Context(), u.Node).NewSmbGlobalMapping(testShare, at, "csi", "csi-password"))
}

func (u *unpublishedNode) link(to, at string) {
	u.Helper()
	parent := at[:strings.LastIndexByte(at, '\\')]
	u.do(by(u.Context(), u.Node).Mkdir(parent), by(u.Context(), u.Node).CreateSymlink(to, at))
}

// linkAs makes a link with the text that it is to have, as drivers do that call Windows themselves.
func (u *unpublishedNode) linkAs(text string, relative bool, at string) {
	u.Helper()
	u.do(by(u.Context(), u.Node).Mkdir(at[:strings.LastIndexByte(at, '\\')]))
	u.do(reparse.Plant(u.kernel, at,
		win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: text, Relative: relative}))
}

// TestUnpublished: a staged volume is found exactly while no path of a pod leads to it.
func TestUnpublished(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*unpublishedNode)
		want    []string
	}{
		"nothing is staged": {func(u *unpublishedNode) { u.mount(0, publish) }, nil},
		"not published":     {func(u *unpublishedNode) { u.mount(0, stage) }, []string{stage}},
		"published":         {func(u *unpublishedNode) { u.mount(0, stage); u.link(stage, publish) }, nil},
		"another volume, too": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.mount(1, stage2)
			u.link(stage, publish)
		}, []string{stage2}},
		"published in lower case": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.linkAs(`\??\`+strings.ToLower(stage), false, publish)
		}, nil},
		"published without a drive": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.linkAs(strings.TrimPrefix(stage, "C:"), true, publish)
		}, nil},
		"a directory of it is published": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.do(by(u.Context(), u.Node).Mkdir(stage + `\sub`))
			u.link(stage+`\sub`, publish)
		}, nil},
		"published by a link to a link": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.link(publish, publish2)
		}, nil},
		"published twice": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.link(stage, publish2)
		}, nil},
		"published twice, and unpublished once": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.link(stage, publish2)
			u.do(by(u.Context(), u.Node).Rmdir(publish, true))
		}, nil},
		"published, and unpublished": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.do(by(u.Context(), u.Node).Rmdir(publish, true))
		}, []string{stage}},
		"published by a mount point": {func(u *unpublishedNode) { u.mount(0, stage); u.mount(0, publish) }, nil},
		"published by a link into the volume": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.linkAs(`\??\`+strings.TrimPrefix(u.volumes[0], `\\?\`), false, publish)
		}, nil},
		"staged twice":                  {func(u *unpublishedNode) { u.mount(0, stage); u.mount(0, stage2) }, []string{stage, stage2}},
		"a share":                       {func(u *unpublishedNode) { u.share(stage) }, []string{stage}},
		"a share, published":            {func(u *unpublishedNode) { u.share(stage); u.link(stage, publish) }, nil},
		"a share, published by a share": {func(u *unpublishedNode) { u.share(stage); u.share(publish) }, nil},
		"two volumes on a share, one of them published": {func(u *unpublishedNode) {
			u.share(stage)
			u.share(stage2)
			u.link(stage, publish)
		}, []string{stage2}},
		"the disk is gone": {func(u *unpublishedNode) {
			u.mount(0, stage)
			_, err := u.kernel.DetachDisk(1)
			u.do(err)
		}, nil},
		"a path of a pod cannot be opened": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.denied = `\mount`
		}, nil},
		"a directory of a pod cannot be opened": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.denied = `\uid`
		}, nil},
		"pods are not searched": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.dirs = []string{KubeletDir + `\plugins`}
		}, nil},
		"directories are searched one by one": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.mount(1, stage2)
			u.link(stage, publish)
			u.dirs = []string{KubeletDir + `\plugins`, KubeletDir + `\pods`}
		}, []string{stage2}},
		"the search fails": {func(u *unpublishedNode) {
			u.mount(0, stage)
			u.link(stage, publish)
			u.denied, u.code = `\uid`, win32.ERROR_IO_DEVICE
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenario.Default()
			s.Disks = []bundle.Spec{{SizeBytes: 64 << 20, Formatted: true, LUN: 1},
				{SizeBytes: 64 << 20, Formatted: true, LUN: 2}}
			k := emulate(t, emulated.Options{Scenario: &s})
			u := &unpublishedNode{T: t, kernel: k, dirs: []string{KubeletDir}, code: win32.ERROR_ACCESS_DENIED}
			u.open()
			u.do(by(t.Context(), u.Node).Mkdir(KubeletDir + `\pods`))
			for i := range u.volumes {
				ids, err := by(t.Context(), u.Node).ListVolumesOnDisk(uint32(i + 1))
				u.do(err)
				u.volumes[i] = ids[0]
			}
			c.prepare(u)
			u.open()
			links, _ := u.Filesystem.Links(t.Context())
			var got []string
			for _, f := range doctor.Unpublished(&admin.GetFactsResponse{Links: links.All, AllLinks: links.Complete,
				WorkingDirectories: u.dirs}) {
				got = append(got, f.GetPath())
				if !slices.Contains(append(u.volumes[:], testShare), f.GetTarget()) {
					t.Errorf("%s is the stage of %s", f.GetPath(), f.GetTarget())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// open starts an agent on the node.
func (u *unpublishedNode) open() {
	u.Helper()
	u.Node = newNode(u.T, u.kernel, Config{WorkingDirs: u.dirs, RequirePrivacy: true,
		Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
			if u.denied != "" && call.Function == "OpenFile" && strings.HasSuffix(call.Object, u.denied) {
				return &kernel.Error{Function: "NtCreateFile", Object: call.Object, Code: u.code}
			}
			return do()
		}})
	u.EnablePrivileges(u.Context())
}
