// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

const goneVolume = `\\?\Volume{12345678-9abc-def0-1234-56789abcdef0}\`

// plantLinks plants links of all kinds in pods.
func (n *node) plantLinks() {
	n.t.Helper()
	n.put(pods, "dir/below/", "dir/file", "dir2/")
	n.mount(`volume`, n.volumes[0])
	n.put(pods+`\volume`, "inner/below/")
	for name, point := range map[string]win32.ReparsePoint{
		"link": reparse.Symlink(pods + `\dir`), "junction": reparse.Junction(pods + `\dir`), "twice": reparse.Symlink(pods + `\link`),
		"upper": reparse.Symlink(`C:\VAR\LIB\KUBELET\PODS\DIR`), "above": reparse.Symlink(`C:\var\lib`),
		"shortname": reparse.Symlink(`C:\var\lib\KUBELE~1\pods\dir`), "indirect": reparse.Symlink(pods + `\outside`),
		"byname": reparse.Symlink(n.volumes[0] + `inner`), "intovolume": reparse.Symlink(pods + `\volume\link`),
		"nowhere": reparse.Symlink(pods + `\later`), "long": reparse.Symlink(pods + `\` + strings.Repeat("n", 230)),
		"relative": reparse.Relative(`dir`),
		"foreign":  {Tag: 0x8000001B, Raw: []byte("an app execution link")},
		"outside":  reparse.Symlink(`C:\Windows`), "lookalike": reparse.Symlink(`C:\var\lib\kubelet2`),
		"dots": reparse.Symlink(pods + `\..\pods\dir`), "loop": reparse.Symlink(pods + `\loop2`), "loop2": reparse.Symlink(pods + `\loop`),
		"deeploop": reparse.Symlink(pods + `\deeploop\x`),
		"system":   reparse.Junction(n.system), "gone": reparse.Junction(goneVolume), "inside": reparse.Junction(n.volumes[0] + `inner`),
		`volume\link`: reparse.Symlink(pods + `\dir`), `volume\junction`: reparse.Junction(n.volumes[0]),
		"share": reparse.Symlink(`UNC\fs.emulated\share`), "onshare": reparse.Symlink(`UNC\FS.emulated\Share\dir`),
		"missing": reparse.Symlink(`UNC\fs.emulated\share\missing`),
		"other":   reparse.Symlink(`UNC\fs.emulated\other`),
	} {
		n.plant(pods+`\`+name, point)
	}
	n.put(pods+`\share`, "dir/below/", "file")
	n.plant(pods+`\share\evil`, reparse.Symlink(pods+`\dir`))
}

// Each component of a path may be a directory, a link or a mount point. What is refused is refused to changes, too, and
// makes nothing.
func TestWalk(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	notADirectory := failure{errdefs.FailedPrecondition, reason.NotADirectory, `is a file, not a directory: file`}
	onVolume := refused("it lies inside a mounted volume or share, where workloads write")
	for path, test := range map[string]struct {
		exists bool
		failure
	}{
		`dir\below`: {exists: true}, `DIR\Below`: {exists: true}, `dir\file`: {exists: true}, `dir\none`: {},
		`none\below`: {}, `dir\file\x`: {failure: notADirectory},
		// the last component is not followed
		`link`: {exists: true}, `outside`: {exists: true}, `loop`: {exists: true}, `gone`: {exists: true},
		`other`: {exists: true}, `volume\link`: {exists: true}, `foreign`: {exists: true},

		`link\below`: {exists: true}, `junction\below`: {exists: true}, `twice\below`: {exists: true}, `link\none`: {},
		`upper\below`:       {exists: true},
		`nowhere\x`:         {},
		`link\file\x`:       {failure: notADirectory},
		`relative\below`:    {failure: refused(`"relative" on the way is not followed: it is a relative link`)},
		`foreign\x`:         {failure: refused("it is neither a symbolic link nor a mount point")},
		`outside\System32`:  {failure: refused(`the agent's flag -working-dir=C:\Windows would allow it`)},
		`indirect\System32`: {failure: refused(`-working-dir=C:\Windows would`)},
		`above\kubelet`:     {failure: refused(`-working-dir=C:\var\lib would`)},
		`shortname\below`:   {failure: refused(`short name`)},
		`lookalike\x`:       {failure: refused(`-working-dir=C:\var\lib\kubelet2 would`)},
		`dots\below`:        {failure: refused(`has a ".." component`)},
		`loop\x`:            {failure: refused(`: too many links on the way`)},
		`deeploop\x`:        {failure: refused(`: too many links on the way`)},
		`long\` + pods[3:]:  {failure: failure{errdefs.InvalidArgument, reason.InvalidPath, "longer than 260 characters"}},
		`volume\inner`:      {exists: true},
		`volume\none`:       {},
		`volume\link\x`:     {failure: onVolume},
		`volume\junction\x`: {failure: onVolume},
		`intovolume\x`:      {failure: onVolume},
		`byname\below`:      {failure: refused("it is not the root of a volume that is mounted")},
		`system\Windows`:    {failure: refused("it is the system volume")},
		`inside\below`:      {failure: refused("it is not the root of a volume that is mounted")},
		`gone\x`: {failure: failure{errdefs.FailedPrecondition, reason.VolumeGone,
			goneVolume + ", which is mounted on the way, is not present"}},
		`share\dir\below`: {exists: true}, `onshare\below`: {exists: true}, `share\none`: {}, `missing\x`: {},
		`share\file\x`: {failure: notADirectory},
		`share\evil\x`: {failure: onVolume},
		`other\x`:      {failure: refused(`it leads to the share \\fs.emulated\other, which is not mapped`)},
	} {
		exists, err := n.exists(pods + `\` + path)
		if test.want(t, path, err); exists != test.exists {
			t.Errorf("%s exists: %t", path, exists)
		}
		if test.failure != (failure{}) {
			before := n.names()
			test.want(t, "making a directory in "+path, n.mkdir(pods+`\`+path+`\new`))
			test.want(t, "removing "+path, n.rmdir(pods+`\`+path, true))
			n.wantNames(path, before)
		}
	}
	if got := n.SMBContactsWithoutMapping(); got != 0 {
		t.Errorf("%d contacts without a mapping", got)
	}
}

// A walk that may create makes what is missing, also where a link leads, but never the target of a link to a share.
func TestMakeDirectory(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	for path, test := range map[string]struct {
		made string
		failure
	}{
		pods: {made: `dir`}, pods + `\new\below`: {made: `new\below`}, pods + `\new`: {made: `new`},
		pods + `\link\new\below`: {made: `dir\new\below`}, pods + `\nowhere\below`: {made: `later\below`},
		pods + `\volume\new`: {made: `volume\new`}, pods + `\share\new`: {made: `share\new`},
		pods + `\link`:     {made: `link`}, // is as it was
		pods + `\dir\file`: {failure: failure{errdefs.FailedPrecondition, reason.NotADirectory, `dir\file is a file, not a`}},
		pods + `\missing\new`: {failure: failure{errdefs.NotFound, "FILE_NOT_FOUND",
			`opening "missing" on the way to ` + pods + `\missing\new`}},
		`C:\var\lib\kubelet`: {made: `dir`},
		`C:\Windows\new`:     {failure: failure{errdefs.InvalidArgument, reason.OutsideWorkingDirs, "not within the"}},
	} {
		test.want(t, path, n.mkdir(path))
		if exists, err := n.exists(pods + `\` + test.made); !exists {
			t.Errorf("%s: %s was not made, %v", path, test.made, err)
		}
	}
	if target, err := n.Readlink(pods + `\link`); err != nil || target != pods+`\dir` {
		t.Errorf("the link leads to %q, %v", target, err)
	}
}

// As in Windows, at most 63 links are followed for a path, and fewer where all that is on the way is held.
func TestChainsOfLinks(t *testing.T) {
	n := newNode(t)
	n.put(pods, "0/below/")
	for i := range winfs.MaxLinks + 1 {
		n.plant(fmt.Sprintf(`%s\%d`, pods, i+1), reparse.Symlink(fmt.Sprintf(`%s\%d`, pods, i)))
	}
	for most, walk := range map[int]winfs.Walk{winfs.MaxLinks: {}, winfs.MaxPinnedLinks: {Pin: true}} {
		n.handles.most.Store(0)
		for links, want := range map[int]failure{most: {}, most + 1: refused("too many links on the way")} {
			path := fmt.Sprintf(`%s\%d`, pods, links)
			want.want(t, path+`\below`, n.at(path+`\below`, walk, func(_ *winfs.FS, loc *winfs.Location) error {
				l, err := loc.Open(0)
				if err == nil && (!l.IsPlainDirectory() || loc.Path.String() != path+`\below`) {
					t.Errorf("%s has %+v", loc.Path, l.Stat)
				}
				return err
			}))
			if !walk.Pin {
				want.want(t, path, n.run(func(files *winfs.FS) error { _, _, err := files.Resolve(n.path(path)); return err }))
			}
		}
		if got := n.handles.most.Load(); !walk.Pin && got > 8 {
			t.Errorf("%d handles were open at a time", got)
		}
	}
}

// A directory is searched until something is found, or until the search fails. The root of an empty volume lists not
// even . and ..
func TestHas(t *testing.T) {
	n := newNode(t)
	n.put(pods, "dir/a", "dir/b/", "empty/")
	for path, want := range map[string]bool{
		`\\?\` + pods + `\dir`: true, `\\?\` + pods + `\empty`: false, n.volumes[0]: false,
	} {
		h, err := n.handles.OpenFile(nil, path, kernel.OpenOptions{
			Access: winfs.OpenDirectory, Share: winfs.ShareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE,
		})
		n.check(err)
		l, err := winfs.LookAt(h)
		n.check(err)
		has, err := l.Has(func(entry win32.DirectoryEntry) (bool, error) { return entry.Name == "b", nil })
		if has != want || err != nil {
			t.Errorf("%s has it: %t, %v", path, has, err)
		}
		_, err = l.Has(func(win32.DirectoryEntry) (bool, error) { return false, fs.ErrInvalid })
		if errors.Is(err, fs.ErrInvalid) != want {
			t.Errorf("%s: %v", path, err)
		}
		_ = h.Close()
	}
}

// While the location of a pinned walk is open, nothing on the way nor the object itself can be renamed or removed.
func TestPinnedWay(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	held := func() (all []bool) {
		for _, part := range []string{pods, pods + `\link`, pods + `\dir`, pods + `\dir\below`} {
			h, err := n.OpenFile(nil, `\\?\`+part, kernel.OpenOptions{Access: win32.DELETE, Share: winfs.ShareAll,
				Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT})
			if err == nil {
				_ = h.Close()
			}
			all = append(all, errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION))
		}
		return all
	}
	for _, test := range []struct {
		walk   winfs.Walk
		access uint32
		want   []bool
	}{
		{winfs.Walk{}, winfs.OpenContents, []bool{false, false, false, false}},
		{winfs.Walk{Pin: true}, 0, []bool{true, true, true, true}},
		{winfs.Walk{Pin: true}, win32.DELETE, []bool{true, true, true, false}}, // the object is to be removed
	} {
		n.check(n.at(pods+`\link\below`, test.walk, func(_ *winfs.FS, loc *winfs.Location) error {
			_, err := loc.Open(test.access)
			if got := held(); !slices.Equal(got, test.want) {
				t.Errorf("%+v, %#x: held are %t, want %t", test.walk, test.access, got, test.want)
			}
			return err
		}))
	}
}

// Callers name paths in working directories, as Windows reads them in one way only.
func TestPathsOfCallers(t *testing.T) {
	n := newNode(t)
	invalid := failure{errdefs.InvalidArgument, reason.InvalidPath, ""}
	outside := failure{errdefs.InvalidArgument, reason.OutsideWorkingDirs, `(C:\var\lib\kubelet)`}
	for text, want := range map[string]failure{
		pods: {}, `c:\VAR\lib\Kubelet\`: {}, `C:\`: outside, `C:\var\lib\kubelet2`: outside, `D:\var\lib\kubelet`: outside,
		``: invalid, `pods`: invalid, `C:/var/lib/kubelet`: invalid, pods + `\..\x`: invalid, pods + `\x.`: invalid,
		pods + `\x:stream`: invalid, pods + `\NUL`: invalid, pods + `\PROGRA~1`: invalid, `\\?\` + pods: invalid,
		share: invalid,
	} {
		_, err := n.policy.ParsePath(text, winpath.Options{})
		want.want(t, text, err)
	}
	path, err := n.policy.ParsePath(`C:/var/lib/kubelet`, winpath.Options{ForwardSlash: true})
	n.check(err)
	itself := failure{errdefs.FailedPrecondition, reason.WorkingDirItself, "is a working directory itself"}
	itself.want(t, "a working directory", n.policy.MayTake(path, "moved"))
	n.check(n.policy.MayTake(n.path(pods), "moved"))
	_, err = winfs.NewPolicy([]string{`var`}, nil)
	invalid.want(t, "a working directory that is relative", err)
}

// rule forbids paths and servers that begin so.
type rule string

func (rule) Name() string { return "rule" }

func (r rule) Path(path winpath.Path) error { return r.Server(path.String()) }

func (r rule) Server(name string) error {
	if strings.HasPrefix(name, string(r)) {
		return errdefs.PermissionDenied.Errorf(reason.Policy, "%s is forbidden", r)
	}
	return nil
}

// What a client may reach is decided by where a path leads. The agent itself may look everywhere.
func TestScope(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	for name, r := range map[string]rule{
		`dir\below`: pods + `\dir`, `link\below`: pods + `\dir`, `share\dir`: "fs.emulated",
	} {
		n.check(n.within(t.Context(), operation.Within(r), func(files *winfs.FS) error {
			_, err := files.Exists(n.path(pods + `\` + name))
			failure{errdefs.PermissionDenied, reason.Policy, string(r) + " is forbidden"}.want(t, name, err)
			_, err = files.Unrestricted().Exists(n.path(pods + `\` + name))
			return err
		}))
	}
}
