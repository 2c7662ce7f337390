// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

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

const treePath = KubeletDir + `\pods\tree`

// treeNode is a node with an empty directory at treePath, which is host on the host.
func treeNode(t *testing.T, around kernel.Interceptor) (n *Node, k *counted, host string) {
	t.Helper()
	e := emulate(t, emulated.Options{})
	k = &counted{Kernel: e}
	n = newNode(t, k, Config{Interceptor: around})
	must(t, n.Filesystem.Mkdir(t.Context(), treePath))
	host, err := e.HostPath(treePath)
	must(t, err)
	return n, k, host
}

// plantJunction makes a junction past the agent.
func plantJunction(t *testing.T, k kernel.Kernel, path, target string) {
	t.Helper()
	h, err := k.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access: win32.FILE_WRITE_ATTRIBUTES, Share: winfs.ShareAll, Disposition: win32.FILE_CREATE,
		Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	must(t, err)
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + target}
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	must(t, errors.Join(err, h.Close()))
}

// deepTree makes a tree of two branches, with a file and an empty directory on each level.
func deepTree(t *testing.T, host string, levels int) {
	t.Helper()
	for _, branch := range []string{"a", "b"} {
		at := host
		for range levels {
			at = filepath.Join(at, branch)
			must(t, os.MkdirAll(filepath.Join(at, "empty"), 0o700))
			must(t, os.WriteFile(filepath.Join(at, "file"), nil, 0o600))
		}
	}
}

// However deep a tree is, few handles are open at a time: what lies deep is moved up, or, where that is refused,
// reached in several passes.
func TestDeepTrees(t *testing.T) {
	for _, refused := range []error{nil, win32.ERROR_ACCESS_DENIED, win32.ERROR_NOT_SUPPORTED} {
		t.Run(fmt.Sprint(refused), func(t *testing.T) {
			moves := 0
			n, k, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
				if call.Function != "Rename" {
					return do()
				}
				if moves++; refused != nil {
					return &kernel.Error{Function: "NtSetInformationFile", Code: refused.(win32.Errno)} //nolint:forcetypeassert,errorlint // see above
				}
				return do()
			})
			deepTree(t, host, 8*winfs.MaxOpenLevels)
			if err := n.Filesystem.RmdirContents(t.Context(), treePath); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(host); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if moves == 0 {
				t.Error("nothing was moved up")
			}
			if most := k.most.Load(); most > winfs.MaxOpenLevels+8 || k.open.Load() != 0 {
				t.Errorf("%d handles were open at a time, %d still are", most, k.open.Load())
			}
			deepTree(t, host, 3*winfs.MaxOpenLevels)
			if err := n.Filesystem.Rmdir(t.Context(), treePath, true); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(host); !os.IsNotExist(err) {
				t.Errorf("the directory is still there: %v", err)
			}
		})
	}
}

// A removal reads no file, so that unreadable ones go too.
func TestRemovalReadsNoFile(t *testing.T) {
	n, _, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "OpenFile" && strings.HasSuffix(call.Object, `\file`) {
			how := call.Parameters[0].(kernel.OpenOptions) //nolint:forcetypeassert // it is
			if how.Access&winfs.OpenContents != 0 {
				t.Errorf("%s is opened with the rights %#x", call.Object, how.Access)
			}
		}
		return do()
	})
	deepTree(t, host, 2)
	for _, file := range []string{"a/file", "b/b/file"} {
		must(t, os.Chmod(filepath.Join(host, file), 0o200))
	}
	if err := n.Filesystem.Rmdir(t.Context(), treePath, true); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(host); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// An object that cannot be removed does not keep the others.
func TestUnremovableObjectDoesNotKeepOthers(t *testing.T) {
	var stays atomic.Bool
	stays.Store(true)
	n, _, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "SetInformation" && strings.Contains(call.Object, "stays") && stays.Load() {
			return &kernel.Error{Function: "SetFileInformationByHandle", Object: call.Object, Code: win32.ERROR_ACCESS_DENIED}
		}
		return do()
	})
	for i := range 1200 { // more than a buffer holds
		name := fmt.Sprintf("%04d", i)
		if i%2 == 0 {
			name += "stays"
		}
		must(t, os.WriteFile(filepath.Join(host, name), nil, 0o600))
	}
	deepTree(t, host, 3*winfs.MaxOpenLevels)
	deep := filepath.Join(host, strings.Repeat("a/", 2*winfs.MaxOpenLevels), "stays")
	must(t, os.WriteFile(deep, nil, 0o600))
	var e *errdefs.Error
	if err := n.Filesystem.RmdirContents(t.Context(), treePath); !errors.As(err, &e) ||
		!errors.Is(err, win32.ERROR_ACCESS_DENIED) {
		t.Errorf("the error is %v", err)
	}
	files := 0
	if err := filepath.WalkDir(host, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if files++; !strings.Contains(path, "stays") {
				t.Errorf("%s is still there", path)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files != 601 {
		t.Errorf("%d files stay, want 601", files)
	}
	stays.Store(false)
	if err := n.Filesystem.Rmdir(t.Context(), treePath, true); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Some file servers lose their place in a listing when files are deleted, and end it too early.
func TestListingsThatEndEarly(t *testing.T) {
	early := 0
	n, _, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "Information" && call.Code == win32.FileFullDirectoryInfo && early < 2 {
			early++
			return &kernel.Error{Function: "GetFileInformationByHandleEx", Object: call.Object, Code: win32.ERROR_NO_MORE_FILES}
		}
		return do()
	})
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(host, fmt.Sprintf("%s%04d", strings.Repeat("x", 100), i)),
			nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Filesystem.RmdirContents(t.Context(), treePath); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(host); err != nil || len(left) > 0 || early != 2 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// A program that fills the directory faster than it is emptied ends the removal.
func TestDirectoryThatIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, files := "", 0
		n, _, at := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
			err := do()
			if call.Function == "SetInformation" && err == nil {
				files++
				err = os.WriteFile(filepath.Join(host, fmt.Sprint(files)), nil, 0o600)
			}
			return err
		})
		host = at
		must(t, os.WriteFile(filepath.Join(host, "first"), nil, 0o600))
		for verb, remove := range map[string]func() error{
			"RmdirContents": func() error { return n.Filesystem.RmdirContents(t.Context(), treePath) },
			"Rmdir":         func() error { return n.Filesystem.Rmdir(t.Context(), treePath, true) },
		} {
			var e *errdefs.Error
			if err := remove(); !errors.As(err, &e) || e.Class != errdefs.Unavailable || e.Reason != reason.DirectoryNotEmpty {
				t.Errorf("%s: %v", verb, err)
			}
		}
	})
}

// A workload puts a junction in the place of a directory deep in the tree, when that is about to be moved up: only what
// is a plain directory is moved.
func TestJunctionInPlaceOfADirectory(t *testing.T) {
	const victim, prepared = KubeletDir + `\pods\victim`, KubeletDir + `\pods\junction`
	path := treePath + strings.Repeat(`\a`, winfs.MaxOpenLevels+1)
	swap := func() {}
	n, k, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "Rename" {
			t.Errorf("%s is moved", call.Object)
		}
		err := do()
		if call.Function == "SetInformation" && errdefs.HasCode(err, win32.ERROR_DIR_NOT_EMPTY) &&
			strings.HasSuffix(call.Object, path) {
			swap()
		}
		return err
	})
	must(t, n.Filesystem.Mkdir(t.Context(), victim+`\inner`))
	plantJunction(t, k, prepared, victim)
	deep := filepath.Join(host, strings.Repeat("a/", winfs.MaxOpenLevels+1))
	must(t, os.MkdirAll(filepath.Join(deep, "content"), 0o700))
	swaps := 0
	swap = func() {
		swaps++
		err := os.Rename(deep, filepath.Join(filepath.Dir(host), "away"))
		if err == nil {
			err = os.Rename(filepath.Join(filepath.Dir(host), "junction"), deep)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := n.Filesystem.Rmdir(t.Context(), treePath, true); err != nil || swaps != 1 {
		t.Errorf("%d swaps, %v", swaps, err)
	}
	if there, err := n.Filesystem.PathExists(t.Context(), victim+`\inner`); err != nil || !there {
		t.Errorf("what the junction leads to is there: %t, %v", there, err)
	}
}
