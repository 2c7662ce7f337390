// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// linkTo describes a link to a directory of the node.
func (n *node) linkTo(at, target string) winfs.DirectoryLink {
	same := func(t winpath.Target) bool { return t.Kind == winpath.TargetLocal && t.Path.Equal(n.path(target)) }
	return winfs.DirectoryLink{At: n.path(at), Substitute: `\??\` + target, Print: target, Same: same}
}

// A link that is there already is success, and everything else there stays. LinkPossible says so beforehand.
func TestMakeLink(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	n.plant(pods+`\DIR again`, reparse.Symlink(pods+`\DIR`))
	exists := failure{errdefs.AlreadyExists, reason.PathExists, `already exists and is not a link to ` + pods + `\dir;`}
	forbidden := failure{errdefs.PermissionDenied, "PRIVILEGE_NOT_HELD", `needs the user right "Create symbolic links"`}
	for name, test := range map[string]struct{ possible, withoutRight failure }{
		`made`: {failure{}, forbidden}, `dir2\made`: {failure{}, forbidden}, `volume\made`: {failure{}, forbidden},
		`link`: {}, `DIR again`: {}, // are the same
		`twice`: {exists, exists}, `junction`: {exists, exists}, `dir2`: {exists, exists}, `dir\file`: {exists, exists},
		`foreign`: {exists, exists}, `volume`: {exists, exists}, `relative`: {exists, exists},
		`none\link`: {failure{errdefs.NotFound, reason.PathNotFound, "make it with Mkdir first"},
			failure{errdefs.NotFound, reason.PathNotFound, `the parent directory of ` + pods + `\none\link is not there`}},
		`outside\link`:     {refused("not followed"), refused("not followed")},
		`volume\link\link`: {refused("where workloads write"), refused("where workloads write")},
	} {
		link := n.linkTo(pods+`\`+name, pods+`\dir`)
		before := n.names()
		possible := func(forbidden bool) error {
			return n.run(func(files *winfs.FS) error { return files.LinkPossible(link, forbidden) })
		}
		test.possible.want(t, name, possible(false))
		test.withoutRight.want(t, name, possible(true))
		n.check(n.SetSwitch("lacksPrivileges", "SeCreateSymbolicLinkPrivilege"))
		test.withoutRight.want(t, name, n.run(func(files *winfs.FS) error { return files.MakeLink(link) }))
		n.wantNames(name, before)
		n.check(n.SetSwitch("lacksPrivileges", "none"))
		test.possible.want(t, name, n.run(func(files *winfs.FS) error { return files.MakeLink(link) }))
		if test.possible != (failure{}) {
			n.wantNames(name, before)
		} else if to, err := n.Readlink(link.At.String()); err != nil || n.path(to).Key() != n.path(pods+`\dir`).Key() {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
}

// leadsTo returns the volume or share to which a link leads by itself.
func leadsTo(s winfs.Stat) string {
	if id, ok := s.MountedVolume(); ok {
		return id.String()
	}
	if target, ok := s.Share(); ok {
		return target.Key()
	}
	return ""
}

// Resolve follows links to a directory, a mount point or a share; Follow enters the mounted volume as well. What is
// refused on the way is refused at the end.
func TestFollow(t *testing.T) {
	n := newNode(t)
	n.plantLinks()
	n.plant(pods+`\tovolume`, reparse.Symlink(pods+`\volume`))
	n.plant(pods+`\toshare`, reparse.Symlink(pods+`\share`))
	here := n.system + pods[len(`C:\`):]
	onShare := func(text string) failure { return failure{errdefs.FailedPrecondition, reason.OnShare, text} }
	toShare := onShare(pods + `\share leads to a network share, not to a volume`)
	for name, test := range map[string]struct {
		end     string  // of Resolve, in pods
		there   string  // what the end leads to
		opens   string  // by Follow
		resolve failure // and of Follow
		follow  failure
	}{
		`dir`: {end: `dir`, opens: here + `\dir`}, `dir\file`: {end: `dir\file`, opens: here + `\dir\file`},
		`link`: {end: `dir`, opens: here + `\dir`}, `twice`: {end: `dir`, opens: here + `\dir`},
		`junction`: {end: `dir`, opens: here + `\dir`}, `link\below`: {end: `link\below`, opens: here + `\dir\below`},
		`volume`:          {end: `volume`, there: n.volumes[0], opens: n.volumes[0]},
		`tovolume`:        {end: `volume`, there: n.volumes[0], opens: n.volumes[0]},
		`volume\inner`:    {end: `volume\inner`, opens: n.volumes[0] + `inner`},
		`volume\junction`: {end: `volume\junction`, there: n.volumes[0], opens: n.volumes[0]},
		`gone`: {end: `gone`, there: goneVolume,
			follow: failure{errdefs.FailedPrecondition, reason.VolumeGone, "is not present"}},
		`system`:  {end: `system`, there: n.system, follow: refused("it is the system volume")},
		`share`:   {end: `share`, there: share, follow: toShare},
		`toshare`: {end: `share`, there: share, follow: toShare},
		`other`:   {end: `other`, there: `\\fs.emulated\other`, follow: onShare("leads to a network share")},

		`relative`: {resolve: refused(`\relative is not followed: it is a relative link`)},
		`foreign`:  {resolve: refused("it is neither a symbolic link nor a mount point")},
		`byname`:   {resolve: refused("leads into a volume by its name and is not followed")},
		`inside`:   {resolve: refused("leads into a volume by its name and is not followed")},
		`outside`:  {resolve: refused(`the agent's flag -working-dir=C:\Windows would allow it`)},
		`loop`:     {resolve: refused("too many links on the way")},
		`nowhere`:  {resolve: failure{errdefs.NotFound, "FILE_NOT_FOUND", ""}},
		`none`:     {resolve: failure{errdefs.NotFound, "FILE_NOT_FOUND", ""}},
	} {
		if test.resolve != (failure{}) {
			test.follow = test.resolve
		}
		path := n.path(pods + `\` + name)
		test.resolve.want(t, "Resolve "+name, n.run(func(files *winfs.FS) error {
			end, there, err := files.Resolve(path)
			if err == nil && (end.String() != pods+`\`+test.end || leadsTo(there) != test.there) {
				t.Errorf("%s ends at %s, which leads to %q", name, end, leadsTo(there))
			}
			return err
		}))
		test.follow.want(t, "Follow "+name, n.run(func(files *winfs.FS) error {
			loc, l, err := files.Follow(path)
			if err != nil {
				return err
			}
			defer loc.Close()
			if at, err := l.FinalPath(win32.VOLUME_NAME_GUID); err != nil || at != test.opens {
				t.Errorf("%s is open at %s, %v", name, at, err)
			}
			return nil
		}))
	}
}
