// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// planted is a link made by a workload.
type planted struct {
	name  string
	point win32.ReparsePoint // of the node; or
	host  string             // a symbolic link of the host: to Windows, a file that it cannot follow
	there bool               // it leads to something inside the working directories
	own   bool               // it is a mount point of the volume on which it lies
}

// workloadLinks returns the links planted inside a mounted volume.
func workloadLinks(g *target) []planted {
	links := []planted{
		{name: "windows", point: reparse.Symlink(`C:\Windows`)},
		{name: "canary", point: reparse.Symlink(`C:\canary`)},
		{name: "above", point: reparse.Symlink(`C:\var\lib`)},
		{name: "drive", point: reparse.Symlink(`C:\`)},
		{name: "dots", point: reparse.Symlink(`C:\var\lib\kubelet\pods\..\..\..\..\canary`)},
		{name: "kubelet", point: reparse.Symlink(kubelet), there: true},
		{name: "peer", point: reparse.Symlink(pods + `\peer`), there: true},
		{name: "itself", point: reparse.Symlink(mount + `\plain`), there: true},
		{name: "guid", point: reparse.Symlink(g.system)},
		{name: "guidbelow", point: reparse.Symlink(g.system + `canary`)},
		{name: "verbatim", point: win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: `\\?\C:\canary`}},
		{name: "bare", point: win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: `C:\canary`}},
		{name: "junction", point: reparse.Junction(`C:\canary`)},
		{name: "junctionpeer", point: reparse.Junction(pods + `\peer`), there: true},
		{name: "mountsystem", point: reparse.Junction(g.system)},
		{name: "mountgone", point: reparse.Junction(`Volume{12345678-9abc-def0-1234-56789abcdef0}\`)},
		{name: "mountown", point: reparse.Junction(g.volume), there: true, own: true},
		{name: "relativeup", point: reparse.Relative(`..\..\..\..\..\..\..\canary`)},
		{name: "relativeroot", point: reparse.Relative(`\canary`)},
		{name: "sibling", point: reparse.Relative(`plain`)},
		{name: "loop", point: reparse.Symlink(mount + `\loopback`)},
		{name: "loopback", point: reparse.Symlink(mount + `\loop`)},
		{name: "selfloop", point: reparse.Relative(`selfloop`)},
		{name: "dangling", point: reparse.Symlink(`C:\nowhere`)},
		{name: "danglinginside", point: reparse.Symlink(pods + `\nowhere`)},
		{name: "share", point: reparse.Symlink(`UNC\fs.emulated\share`)},
		{name: "pipe", point: reparse.Symlink(`pipe\csi-proxy-disk-v1`)},
		{name: "device", point: reparse.Symlink(`GLOBALROOT\Device\HarddiskVolume1\`)},
		{name: "nothing", point: win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK}},
		{name: "foreign", point: win32.ReparsePoint{Tag: 0x8000001B, Raw: []byte("an app execution link")}},
	}
	made := filepath.Join(g.t.TempDir(), "link")
	g.OK(os.Symlink(g.unrelatedDir, made))
	if _, err := os.Lstat(made); err != nil {
		return links // Wine says that it made one, and did not
	}
	return append(links, planted{name: "hostspare", host: g.unrelatedDir}, planted{name: "hostup", host: "../../.."},
		planted{name: "hoststate", host: g.StateDir}, planted{name: "hostroot", host: "/"},
		planted{name: "hostdangling", host: "/nowhere"}, planted{name: "hostplain", host: "plain"})
}

// plantAll plants links in a directory of the node.
func (g *target) plantAll(dir string, links []planted) {
	g.t.Helper()
	for _, l := range links {
		if l.host == "" {
			g.plant(dir+`\`+l.name, l.point)
		} else {
			g.OK(os.Symlink(l.host, filepath.Join(g.HostPath(dir), l.name)))
		}
	}
}

// through calls every method with a path through a link, and expects each call to be refused.
func (g *target) through(link string, before snapshot) snapshot {
	g.t.Helper()
	number := len(link) // a different sample for each
	for _, below := range []string{`\victim`, `\new\deeper`} {
		for _, c := range g.pathCalls(pods + `\harmless`) {
			if number++; testnode.Sampled(g.t, number, 0, 11) {
				wantCode(g.t, c.name+" of "+link+below, c.do(link+below), codes.FailedPrecondition)
			}
		}
	}
	return g.unchanged("going through "+link, before)
}

// In a volume, links are neither followed nor taken for a driver's.
func TestLinksInAVolumeAreNotFollowed(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(mount + `\plain\victim\inner`)
	links := workloadLinks(g)
	g.plantAll(mount, links)
	before := g.snapshot()
	for i, l := range links {
		if testnode.Sampled(t, i, 0, 3) {
			before = g.asItIs(l, g.through(mount+`\`+l.name, before))
		}
	}
	// Through the publish link of a driver, on kubelet's file system, the result is the same.
	g.OK(g.CreateSymlink(mount, pods+`\publish`))
	g.through(pods+`\publish\canary`, g.snapshot())
	g.alive()
}

// asItIs calls methods with the path of a link.
func (g *target) asItIs(l planted, before snapshot) snapshot {
	g.t.Helper()
	path := mount + `\` + l.name
	if exists, is := g.Exists(path), g.IsLink(path); !exists || is != l.there {
		g.t.Errorf("%s exists: %t, and leads somewhere: %t, want true and %t", path, exists, is, l.there)
	}
	for _, c := range g.callsNamed(pods+`\peer`, "RmdirContents", "CreateSymlink", "MountVolume", "UnmountVolume") {
		want := codes.FailedPrecondition
		switch {
		case c.name == "CreateSymlink" && l.name == "peer": // the very link
			want = codes.OK
		case c.name == "CreateSymlink":
			want = codes.AlreadyExists
		case l.own && c.name != "RmdirContents": // its own volume is mounted there
			continue
		}
		wantCode(g.t, c.name+" of "+path, c.do(path), want)
	}
	return g.unchanged("calls on "+path, before)
}
