// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

const tree = pods + `\tree`

// empty empties a directory through the agent.
func (n *node) empty(path string) error {
	return n.at(path, winfs.Walk{Pin: true}, func(files *winfs.FS, loc *winfs.Location) error {
		l, err := loc.Open(winfs.OpenContents)
		if err != nil {
			return err
		}
		return files.RemoveContents(l, loc.Path)
	})
}

// left returns the names in a directory.
func (n *node) left(path string) (names []string) {
	n.t.Helper()
	entries, err := os.ReadDir(n.host(path, ""))
	n.check(err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// One object is removed as it is: what a link or a mount point leads to stays.
func TestRemoveOne(t *testing.T) {
	isFile := failure{errdefs.FailedPrecondition, reason.NotADirectory, "it is a file"}
	objects := map[string]failure{
		`dir2`: {}, `link`: {}, `junction`: {}, `relative`: {}, `foreign`: {}, `outside`: {}, `share`: {}, `volume`: {},
		`gone`: {}, `system`: {}, `volume\junction`: {}, `share\evil`: {}, `share\file`: isFile, `dir\file`: isFile,
		`dir`:  {errdefs.FailedPrecondition, "DIR_NOT_EMPTY", `removing ` + pods + `\dir`},
		`none`: {errdefs.NotFound, reason.PathNotFound, ""},
	}
	for _, force := range []bool{false, true} {
		n := newNode(t)
		n.plantLinks()
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(objects))) { // what lies in another comes first
			if force && name == `dir` {
				continue
			}
			path := pods + `\` + name
			i := strings.LastIndex(path, `\`)
			host, before, want := n.host(path[:i], path[i+1:]), n.names(), objects[name]
			if want.want(t, name, n.rmdir(path, force)); want == (failure{}) {
				n.wantNames(name, before, host)
			} else {
				n.wantNames(name, before)
			}
		}
	}
}

// A tree is removed with all links and mount points in it, and nothing that these lead to, nor the other name of a
// file. A volume is flushed once for all its mount points that the mount manager knows.
func TestRemoveTree(t *testing.T) {
	for what, in := range map[string]string{"RemoveTree": pods, "RemoveContents": pods + `\volume`} {
		tree := in + `\tree`
		n := newNode(t)
		n.plantLinks()
		n.mount(`again`, n.volumes[1])
		n.put(pods+`\again`, "precious")
		n.put(in, "kept")
		before := n.names()
		n.put(in, "tree/file", "tree/fixed", "tree/unreadable", "tree/a/b/m2/", "tree/a/b/file", "tree/empty/", "tree/m1/")
		n.check(os.Chmod(n.host(tree, "fixed"), 0o400))
		n.check(os.Chmod(n.host(tree, "unreadable"), 0o200))
		n.check(os.Link(n.host(in, "kept"), n.host(tree, "second")))
		n.check(os.Symlink(n.host(pods, "dir"), n.host(tree, "a/host"))) // to Windows, a file that it cannot follow
		for i, point := range []win32.ReparsePoint{
			reparse.Symlink(pods + `\dir`), reparse.Junction(pods + `\dir`), reparse.Symlink(`C:\Windows`), reparse.Junction(n.system), reparse.Junction(n.volumes[0]),
			reparse.Junction(goneVolume), reparse.Symlink(`UNC\fs.emulated\share`), reparse.Symlink(`UNC\fs.emulated\other`), reparse.Symlink(tree),
			reparse.Relative(`..`), {Tag: 0x8000001B, Raw: []byte("x")},
		} {
			n.plant(fmt.Sprintf(`%s\a\link%d`, tree, i), point)
		}
		n.check(n.SetVolumeMountPoint(tree+`\m1\`, n.volumes[1]))
		n.check(n.SetVolumeMountPoint(tree+`\a\b\m2\`, n.volumes[1]))
		flushed := ""
		n.around = func(call kernel.Call, do func() error) error {
			if call.Function == "Flush" {
				flushed += call.Object + `\`
			}
			return do()
		}
		if what == "RemoveTree" {
			n.check(n.rmdir(tree, true))
		} else {
			n.check(n.empty(tree))
			if left := n.left(tree); len(left) > 0 {
				t.Errorf("%s: %q are left", what, left)
			}
			n.check(n.rmdir(tree, false))
		}
		n.wantNames(what, before)
		names, err := n.VolumePathNames(n.volumes[1])
		if err != nil || len(names) != 1 || flushed != n.volumes[1] {
			t.Errorf("%s: the mount manager lists %q, %v, after flushing %q", what, names, err, flushed)
		}
	}
}

// Where the file system has no POSIX deletion, a read-only file goes as well. One that cannot be removed stays
// read-only.
func TestRemovalWithoutPOSIXSemantics(t *testing.T) {
	for _, code := range []win32.Errno{
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_NOT_SUPPORTED, win32.ERROR_INVALID_FUNCTION, win32.ERROR_INVALID_LEVEL,
	} {
		broken := failure{errdefs.Unavailable, "IO_DEVICE", "fixed"}
		for plain, want := range map[win32.Errno]failure{0: {}, win32.ERROR_IO_DEVICE: broken} {
			n := newNode(t)
			before := n.names()
			n.put(pods, "tree/fixed")
			n.check(os.Chmod(n.host(tree, "fixed"), 0o400))
			n.around = func(call kernel.Call, do func() error) error {
				switch {
				case call.Code == win32.FileDispositionInfoEx:
					return fault(call, code)
				case plain != 0 && call.Code == win32.FileDispositionInfo && strings.HasSuffix(call.Object, "fixed"):
					return fault(call, plain)
				}
				return do()
			}
			want.want(t, fmt.Sprint(code, plain), n.rmdir(tree, true))
			if plain == 0 {
				n.wantNames(code.Name(), before)
			} else if info, err := os.Stat(n.host(tree, "fixed")); err != nil || info.Mode().Perm()&0o200 != 0 {
				t.Errorf("%v: the file is %v, %v", code, info, err)
			}
		}
	}
}

// branches makes a tree of two branches, with a file and an empty directory on each level.
func (n *node) branches(levels int) {
	n.t.Helper()
	for i := range levels {
		for _, branch := range []string{"a/", "b/"} {
			n.put(pods, "tree/"+strings.Repeat(branch, i+1)+"empty/", "tree/"+strings.Repeat(branch, i+1)+"file")
		}
	}
}

// However deep a tree is, few handles are open at a time: what lies deep is moved up, or, where that is refused,
// reached in several passes. A mount point deep in it is removed like the others.
func TestDeepTree(t *testing.T) {
	for _, code := range []win32.Errno{0, win32.ERROR_ACCESS_DENIED} {
		n := newNode(t)
		n.mount(`volume`, n.volumes[0])
		before := n.names()
		n.branches(3 * winfs.MaxOpenLevels)
		n.mount(`tree`+strings.Repeat(`\a`, 2*winfs.MaxOpenLevels)+`\mount`, n.volumes[0])
		moves := 0
		n.around = func(call kernel.Call, do func() error) error {
			if call.Function == "Rename" {
				if moves++; code != 0 {
					return fault(call, code)
				}
			}
			return do()
		}
		n.check(n.rmdir(tree, true))
		n.wantNames(fmt.Sprint(code), before)
		if most := n.handles.most.Load(); most > winfs.MaxOpenLevels+8 || moves == 0 {
			t.Errorf("%v: %d handles at a time, %d moves", code, most, moves)
		}
	}
}

// shut leaves SYSTEM out of the access list of a directory, a link among them.
func (n *node) shut(path string) {
	n.t.Helper()
	h, err := n.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access: win32.WRITE_DAC, Share: winfs.ShareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	})
	n.check(err)
	var list win32.AccessList
	list.Add(win32.NewAccessEntry("S-1-5-93-2-1", win32.FILE_ALL_ACCESS)) // the user of a container
	n.check(h.SetAccessList(list.Bytes()))
	n.check(h.Close())
}

// What leaves SYSTEM out of its access list is there, and is removed by the right to its directory. A directory with
// content stays, as it cannot be listed, and so does a mount point, which cannot be unmounted.
func TestRemovalWithoutRights(t *testing.T) {
	for what, remove := range map[string]func(n *node) error{
		"RemoveTree":     func(n *node) error { return n.rmdir(tree, true) },
		"RemoveContents": func(n *node) error { return n.empty(tree) },
	} {
		n := newNode(t)
		n.plantLinks()
		before := n.names()
		n.put(pods, "tree/shut", "tree/a/shut", "tree/a/empty/", "tree/file")
		for _, file := range []string{"shut", "a/shut"} {
			n.check(os.Chmod(n.host(tree, file), 0))
		}
		n.plant(tree+`\link`, reparse.Junction(pods+`\dir`))
		n.plant(tree+`\foreign`, win32.ReparsePoint{Tag: 0x8000001B, Raw: []byte("x")})
		n.plant(tree+`\unknown`, reparse.Junction(n.volumes[0]))
		for _, name := range []string{`a\empty`, `link`, `foreign`, `unknown`} {
			n.shut(tree + `\` + name)
			if exists, err := n.exists(tree + `\` + name); !exists || err != nil {
				t.Errorf("%s is there: %t, %v", name, exists, err)
			}
		}
		n.check(remove(n))
		if what == "RemoveContents" {
			n.check(n.rmdir(tree, false))
		}
		n.wantNames(what, before)

		n.put(pods, "tree/full/file", "tree/file")
		n.mount(`tree\mount`, n.volumes[1])
		n.shut(tree + `\full`)
		n.shut(tree + `\mount`)
		failure{errdefs.PermissionDenied, "ACCESS_DENIED", tree + `\full`}.want(t, what, remove(n))
		if left := n.left(tree); !slices.Equal(left, []string{"full", "mount"}) {
			t.Errorf("%s: %q are left", what, left)
		}
	}

	n := newNode(t)
	n.put(pods, "file", "empty/")
	n.check(os.Chmod(n.host(pods, "file"), 0))
	n.shut(pods + `\empty`)
	failure{errdefs.FailedPrecondition, reason.NotADirectory, "it is a file"}.want(t, "file", n.rmdir(pods+`\file`, true))
	n.check(n.rmdir(pods+`\empty`, false))
}

// An object that cannot be removed keeps no other, and the next removal takes it once it can be. The error is its own.
func TestRemovalGoesOn(t *testing.T) {
	many := []string{"tree/file", "tree/stays/kept", "tree/z"}
	for i := range 150 { // more than a buffer holds
		many = append(many, fmt.Sprintf("tree/stays/%s%04d", strings.Repeat("n", 250), i))
	}
	for function, text := range map[string]string{
		"SetInformation": "removing " + tree + `\stays\kept`, "OpenFile": "opening " + tree + `\stays\kept to remove it`,
		"Information": "listing " + tree + `\stays`,
	} {
		n := newNode(t)
		before := n.names()
		n.branches(2 * winfs.MaxOpenLevels)
		n.put(pods, many...)
		n.around = func(call kernel.Call, do func() error) error {
			if call.Function == function && (strings.HasSuffix(call.Object, `\kept`) || function == "Information" &&
				call.Code != win32.FileBasicInfo && strings.HasSuffix(call.Object, `\stays`)) {
				return fault(call, win32.ERROR_ACCESS_DENIED)
			}
			return do()
		}
		failure{errdefs.PermissionDenied, "ACCESS_DENIED", text}.want(t, function, n.rmdir(tree, true))
		if left := append(n.left(tree), n.left(tree+`\stays`)...); function != "Information" &&
			!slices.Equal(left, []string{"stays", "kept"}) {
			t.Errorf("%s: %q are left", function, left)
		}
		n.around = nil
		n.check(n.rmdir(tree, true))
		n.wantNames(function, before)
	}
}

// A removal waits two seconds for programs that hold or fill what it removes, and then tells so. Nothing else is waited
// for.
func TestRemovalWaits(t *testing.T) {
	const all, held = 1 << 20, win32.ERROR_SHARING_VIOLATION
	filled := failure{errdefs.Unavailable, reason.DirectoryNotEmpty, tree + " is being filled while it is being removed"}
	for name, test := range map[string]struct {
		times int         // how often the removal of the file is disturbed
		code  win32.Errno // so; 0: a program makes another file meanwhile
		atEnd bool        // the removal of the directory is disturbed instead
		want  failure
	}{
		"held":   {all, held, false, failure{errdefs.Unavailable, "SHARING_VIOLATION", tree + `\file`}},
		"denied": {all, win32.ERROR_ACCESS_DENIED, false, failure{errdefs.PermissionDenied, "ACCESS_DENIED", tree + `\file`}},
		"filled": {all, 0, false, filled}, "filled at the end": {all, 0, true, filled},
		"held for a moment": {5, held, false, failure{}}, "filled for a moment": {5, 0, false, failure{}},
		"filled at the end for a moment": {5, 0, true, failure{}}, "filled, and only emptied": {all, 0, false, filled},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t)
			n.put(pods, "tree/file")
			times, begin := test.times, time.Now()
			n.around = func(call kernel.Call, do func() error) error {
				below, ok := strings.CutPrefix(call.Object, `\\?\`+tree)
				if !ok || times == 0 || call.Function != "SetInformation" || (below == "") != test.atEnd {
					return do()
				}
				if times--; test.code != 0 {
					return fault(call, test.code)
				}
				n.put(tree, rand.Text())
				return do()
			}
			remove := func() error { return n.rmdir(tree, true) }
			if name == "filled, and only emptied" {
				remove = func() error { return n.empty(tree) }
			}
			test.want.want(t, name, remove())
			if waited := time.Since(begin); waited > 3*time.Second || name == "denied" && waited > 0 {
				t.Errorf("%s: waited %v", name, waited)
			}
			if exists, err := n.exists(tree); test.want == (failure{}) && exists || err != nil {
				t.Errorf("%s: the tree is there: %t, %v", name, exists, err)
			}
		})
	}
}

// A mount point that comes back is removed again, for two seconds. What has come there is flushed, too.
func TestMountPointComesBack(t *testing.T) {
	const mount = tree + `\mount`
	filled := failure{errdefs.Unavailable, reason.DirectoryNotEmpty, mount + " is being filled while it is being removed"}
	for name, test := range map[string]struct {
		times   int // how often it comes back, with the other volume; -1: the directory goes as well
		flushes int
		want    failure
	}{
		"once": {1, 2, failure{}}, "thrice": {3, 2, failure{}}, "without end": {1 << 20, 2, filled},
		"never": {0, 1, failure{}}, "gone": {-1, 1, failure{}},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t)
			n.mount(`tree\mount`, n.volumes[0])
			times, flushes, unmounted, host := test.times, 0, false, n.host(tree, "mount")
			n.around = func(call kernel.Call, do func() error) error {
				if call.Function == "Flush" {
					if flushes++; times > 0 {
						n.check(n.DeleteVolumeMountPoint(mount + `\`))
					}
				}
				if call.Function == "OpenFile" && unmounted && times < 0 {
					_ = os.Remove(host)
				}
				err := do()
				unmounted = unmounted || call.Function == "DeleteVolumeMountPoint"
				if times > 0 && (call.Function == "Flush" || call.Function == "DeleteVolumeMountPoint") {
					times--
					n.check(n.SetVolumeMountPoint(mount+`\`, n.volumes[1]))
				}
				return err
			}
			test.want.want(t, name, n.rmdir(mount, false))
			if exists, err := n.exists(mount); exists != (test.want != failure{}) || flushes != test.flushes {
				t.Errorf("%s: it is there: %t, %v, after %d flushes", name, exists, err, flushes)
			}
		})
	}
}

// What a workload puts in the place of an object while it is removed is removed as it is, and nothing behind it is.
func TestSwappedWhileRemoved(t *testing.T) {
	deep := `tree` + strings.Repeat(`\a`, winfs.MaxOpenLevels+1)
	for path, function := range map[string]string{ // the path is swapped for a junction after that call
		`tree`: "SetInformation", `tree\a`: "SetInformation", deep: "SetInformation", `tree\mount`: "DeleteVolumeMountPoint",
	} {
		n := newNode(t)
		n.plantLinks()
		n.put(pods, "tree/"+strings.Repeat("a/", winfs.MaxOpenLevels+1)+"content/")
		n.mount(`tree\mount`, n.volumes[1])
		n.plant(pods+`\prepared`, reparse.Junction(pods+`\dir`))
		swapped := false
		n.around = func(call kernel.Call, do func() error) error {
			if path == deep && call.Function == "Rename" {
				t.Errorf("the junction %s is moved up", call.Object)
			}
			err := do()
			object := strings.TrimSuffix(call.Object, `\`)
			if !swapped && call.Function == function && strings.HasSuffix(object, pods+`\`+path) {
				swapped = true
				from := n.host(pods, strings.ReplaceAll(path, `\`, "/"))
				n.check(os.Rename(from, n.host(pods, "away")))
				n.check(os.Rename(n.host(pods, "prepared"), from))
			}
			return err
		}
		n.check(n.rmdir(tree, true))
		for other, want := range map[string]bool{`tree`: false, `dir\below`: true, `dir\file`: true, `away`: true} {
			if exists, err := n.exists(pods + `\` + other); exists != want || !swapped {
				t.Errorf("%s is swapped: %t; %s is there: %t, %v", path, swapped, other, exists, err)
			}
		}
	}
}

// A tree that another program removes once it is empty has been removed.
func TestAnotherRemovesTheTree(t *testing.T) {
	n := newNode(t)
	n.put(pods, "tree/file")
	host := n.host(tree, "")
	n.around = func(call kernel.Call, do func() error) error {
		if call.Function == "OpenFile" && call.Object == `\\?\`+tree {
			_ = os.Remove(host) // not while it has content
		}
		return do()
	}
	n.check(n.rmdir(tree, true))
}
