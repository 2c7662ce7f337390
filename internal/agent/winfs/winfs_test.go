// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

const (
	pods  = `C:\var\lib\kubelet\pods`
	share = `\\fs.emulated\share` // is mapped; other and closed are not, whose root denies access
)

// node is an emulated node with two volumes that are mounted nowhere, and the files of its agent.
type node struct {
	*emulated.Node
	t       *testing.T
	dir     string // of its files on the host
	policy  *winfs.Policy
	runner  *operation.Runner
	handles *counted
	system  string // the volume that Windows runs from
	volumes []string
	around  func(call kernel.Call, do func() error) error // each kernel call of the agent, unless it is nil
}

func newNode(t *testing.T) *node {
	t.Helper()
	s := scenario.Default()
	s.Disks = []bundle.Spec{
		{SizeBytes: 64 << 20, LUN: 1, Formatted: true},
		{SizeBytes: 64 << 20, LUN: 2, Formatted: true},
	}
	s.SMBServers[0].Shares = []smb.Share{{Name: "share"}, {Name: "other"}, {Name: "closed", ClosedRoot: true}}
	dir := t.TempDir()
	k, err := emulated.Open(dir, emulated.Options{Scenario: &s})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Node: k, t: t, dir: dir, handles: &counted{Kernel: k}}
	t.Cleanup(func() {
		if open := n.handles.open.Load(); open != 0 {
			t.Errorf("%d handles are left open", open)
		}
		_ = n.Close()
	})
	n.policy, err = winfs.NewPolicy([]string{`C:\var\lib\kubelet`}, nil)
	n.check(err)
	n.runner = operation.NewRunner(operation.Config{Kernel: n.handles,
		Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
			if n.around != nil {
				return n.around(call, do)
			}
			return do()
		}})
	all, err := n.VolumeNames()
	n.check(errors.Join(err, n.EnablePrivilege("SeCreateSymbolicLinkPrivilege")))
	n.system, n.volumes = all[1], all[2:] // the first is an EFI system partition
	n.connect(share)
	return n
}

// check reports an error, on any goroutine.
func (n *node) check(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Error(err)
	}
}

// connect maps a share.
func (n *node) connect(remote string) {
	n.t.Helper()
	n.check(n.CreateSMBGlobalMapping(remote, "csi", kernel.Secret("csi-password"), true))
}

// run calls f as an operation that may reach everything.
func (n *node) run(f func(files *winfs.FS) error) error {
	return n.within(n.t.Context(), operation.Everything(), f)
}

func (n *node) within(ctx context.Context, scope operation.Scope, f func(files *winfs.FS) error) error {
	request := operation.On("Test")
	request.Scope, request.NoJoin = scope, true
	_, err := operation.Change(ctx, n.runner, request, func(o *operation.Operation) (struct{}, error) {
		return struct{}{}, f(n.policy.For(o))
	})
	return err
}

// at calls f with the location of a path.
func (n *node) at(path string, walk winfs.Walk, f func(files *winfs.FS, loc *winfs.Location) error) error {
	return n.run(func(files *winfs.FS) error {
		loc, err := files.Locate(n.path(path), walk)
		if err != nil {
			return err
		}
		defer loc.Close()
		return f(files, loc)
	})
}

func (n *node) exists(path string) (exists bool, err error) {
	err = n.run(func(files *winfs.FS) (err error) { exists, err = files.Exists(n.path(path)); return err })
	return exists, err
}

// mkdir makes a directory and its parents through the agent.
func (n *node) mkdir(path string) error {
	return n.at(path, winfs.Walk{Create: true}, func(_ *winfs.FS, loc *winfs.Location) error {
		_, err := loc.MakeDirectory()
		return err
	})
}

// rmdir removes what is at a path through the agent. A file is refused; if nothing is there, the class is NotFound.
func (n *node) rmdir(path string, force bool) error {
	isFile := errdefs.FailedPrecondition.Errorf(reason.NotADirectory, "it is a file")
	return n.at(path, winfs.Walk{Pin: true}, func(files *winfs.FS, loc *winfs.Location) error {
		found, err := files.RemoveTree(loc, loc.Path, force, isFile)
		if !found {
			return errdefs.NotFound.WrapErrorf(err, reason.PathNotFound, "nothing is there")
		}
		return err
	})
}

func (n *node) path(text string) winpath.Path {
	n.t.Helper()
	path, err := winpath.Parse(text, winpath.Options{})
	n.check(err)
	return path
}

// host returns the path on the host of a name below a directory that exists.
func (n *node) host(directory, name string) string {
	n.t.Helper()
	host, err := n.HostPath(directory)
	n.check(err)
	return filepath.Join(host, filepath.FromSlash(name))
}

// put makes files, and of names that end in a slash directories, past the agent.
func (n *node) put(directory string, names ...string) {
	n.t.Helper()
	for _, name := range names {
		path := n.host(directory, name)
		if n.check(os.MkdirAll(filepath.Dir(path), 0o755)); strings.HasSuffix(name, "/") {
			n.check(os.MkdirAll(path, 0o755))
		} else {
			n.check(os.WriteFile(path, nil, 0o600))
		}
	}
}

// plant makes a reparse point, past the agent.
func (n *node) plant(path string, point win32.ReparsePoint) {
	n.t.Helper()
	n.check(reparse.Plant(n, path, point))
}

// unplant makes a plain directory of a reparse point, past the agent.
func (n *node) unplant(path string, tag uint32) {
	n.t.Helper()
	h, err := n.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access: win32.FILE_WRITE_ATTRIBUTES, Share: winfs.ShareAll, Disposition: win32.FILE_OPEN,
		Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if err == nil {
		_, err = h.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(tag), nil)
		_ = h.Close()
	}
	n.check(err)
}

// mount mounts a volume at a new directory in pods.
func (n *node) mount(name, volume string) {
	n.t.Helper()
	n.put(pods, strings.ReplaceAll(name, `\`, "/")+"/")
	n.check(n.SetVolumeMountPoint(pods+`\`+name+`\`, volume))
}

// names returns the names of all files and directories of the node and of its file servers.
func (n *node) names() map[string]bool {
	n.t.Helper()
	names := map[string]bool{}
	n.check(filepath.WalkDir(n.dir, func(path string, _ fs.DirEntry, err error) error {
		names[strings.TrimPrefix(path, n.dir)] = true
		return err
	}))
	return names
}

// wantNames checks that the node has the same files as before, but for those that have gone.
func (n *node) wantNames(what string, before map[string]bool, gone ...string) {
	n.t.Helper()
	maps.DeleteFunc(before, func(name string, _ bool) bool {
		return slices.ContainsFunc(gone, func(path string) bool {
			return n.dir+name == path || strings.HasPrefix(n.dir+name, path+string(filepath.Separator))
		})
	})
	if diff := cmp.Diff(n.names(), before); diff != "" {
		n.t.Errorf("%s: the files, -got +want:\n%s", what, diff)
	}
}

// failure is what an error must be. The zero value is none.
type failure struct {
	class  errdefs.Class
	reason string
	text   string // a part of it
}

// refused is the failure of a link that is not followed.
func refused(text string) failure {
	return failure{errdefs.FailedPrecondition, reason.LinkRefused, text}
}

func (f failure) want(t *testing.T, what string, err error) {
	t.Helper()
	var e *errdefs.Error
	if f == (failure{}) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	} else if err == nil || !errors.As(errdefs.Errorf(err, "%s", what), &e) || e.Class != f.class ||
		e.Reason != f.reason || !strings.Contains(e.Message, f.text) {
		t.Errorf("%s: got %#v, want %+v", what, err, f)
	}
}

// fault returns the error of a kernel call.
func fault(call kernel.Call, code win32.Errno) error {
	return &kernel.Error{Function: call.Function, Object: call.Object, Code: code}
}

// counted is a kernel that counts the files that are open.
type counted struct {
	kernel.Kernel
	open, most atomic.Int64
}

type countedHandle struct {
	kernel.Handle
	of *counted
}

func (c *counted) OpenFile(dir kernel.Handle, name string, how kernel.OpenOptions) (kernel.Handle, error) {
	if d, ok := dir.(countedHandle); ok {
		dir = d.Handle
	}
	h, err := c.Kernel.OpenFile(dir, name, how)
	if err != nil {
		return nil, err
	}
	c.most.Store(max(c.most.Load(), c.open.Add(1)))
	return countedHandle{h, c}, nil
}

func (h countedHandle) Rename(dir kernel.Handle, name string) error {
	return h.Handle.Rename(dir.(countedHandle).Handle, name) //nolint:forcetypeassert // all are
}

func (h countedHandle) Close() error {
	h.of.open.Add(-1)
	return h.Handle.Close()
}
