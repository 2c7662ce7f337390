// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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
		{name: "windows", point: symlink(`\??\C:\Windows`)},
		{name: "canary", point: symlink(`\??\C:\canary`)},
		{name: "above", point: symlink(`\??\C:\var\lib`)},
		{name: "drive", point: symlink(`\??\C:\`)},
		{name: "dots", point: symlink(`\??\C:\var\lib\kubelet\pods\..\..\..\..\canary`)},
		{name: "kubelet", point: symlink(`\??\` + kubelet), there: true},
		{name: "peer", point: symlink(`\??\` + pods + `\peer`), there: true},
		{name: "itself", point: symlink(`\??\` + mount + `\plain`), there: true},
		{name: "guid", point: symlink(ntName(g.system))},
		{name: "guidbelow", point: symlink(ntName(g.system) + `canary`)},
		{name: "verbatim", point: symlink(`\\?\C:\canary`)},
		{name: "bare", point: symlink(`C:\canary`)},
		{name: "junction", point: mountPoint(`\??\C:\canary`)},
		{name: "junctionpeer", point: mountPoint(`\??\` + pods + `\peer`), there: true},
		{name: "mountsystem", point: mountPoint(ntName(g.system))},
		{name: "mountgone", point: mountPoint(`\??\Volume{12345678-9abc-def0-1234-56789abcdef0}\`)},
		{name: "mountown", point: mountPoint(ntName(g.volume)), there: true, own: true},
		{name: "relativeup", point: relative(`..\..\..\..\..\..\..\canary`)},
		{name: "relativeroot", point: relative(`\canary`)},
		{name: "sibling", point: relative(`plain`)},
		{name: "loop", point: symlink(`\??\` + mount + `\loopback`)},
		{name: "loopback", point: symlink(`\??\` + mount + `\loop`)},
		{name: "selfloop", point: relative(`selfloop`)},
		{name: "dangling", point: symlink(`\??\C:\nowhere`)},
		{name: "danglinginside", point: symlink(`\??\` + pods + `\nowhere`)},
		{name: "share", point: symlink(`\??\UNC\fs.emulated\share`)},
		{name: "pipe", point: symlink(`\??\pipe\csi-proxy-disk-v1`)},
		{name: "device", point: symlink(`\??\GLOBALROOT\Device\HarddiskVolume1\`)},
		{name: "nothing", point: symlink(``)},
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
		g.plantOne(dir, l)
	}
}

func (g *target) plantOne(dir string, l planted) {
	g.t.Helper()
	if l.host == "" {
		g.plant(dir+`\`+l.name, l.point)
		return
	}
	g.OK(os.Symlink(l.host, filepath.Join(g.HostPath(dir), l.name)))
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

// Rmdir removes links themselves, alone or in a tree, and nothing behind them. A file's other names keep its content.
func TestRmdirRemovesPlantedLinksThemselves(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(mount + `\plain\victim\inner`)
	clean := g.snapshot()
	links := workloadLinks(g)
	for _, force := range []bool{false, true} {
		g.plantAll(mount, links)
		for _, l := range links {
			wantCode(t, fmt.Sprintf("Rmdir(%s, %t)", l.name, force), g.Rmdir(mount+`\`+l.name, force), codes.OK)
		}
		g.unchanged(fmt.Sprintf("planting links and removing each, force %t,", force), clean)
	}
	for name, remove := range map[string]func(dir string) error{
		"Rmdir":         func(dir string) error { return g.Rmdir(dir, true) },
		"RmdirContents": func(dir string) error { return errors.Join(g.RmdirContents(dir), g.Rmdir(dir, false)) },
	} {
		for tree, kept := range map[string]string{ // in a volume, and on kubelet's own file system
			mount + `\tree`: mount + `\data`, pods + `\tree`: pods + `\peer\victim\inner\file`,
		} {
			for _, dir := range []string{tree, tree + `\a`, tree + `\a\b`} {
				g.hostDir(dir)
				g.plantAll(dir, links)
				g.WriteFile(dir+`\file`, "goes")
			}
			g.OK(os.Chmod(g.HostPath(tree+`\a\file`), 0o400)) // read-only files go too
			g.OK(os.Link(g.HostPath(kept), g.HostPath(tree+`\second`)))
			g.OK(remove(tree))
			g.unchanged(name+" of a tree with planted links at "+tree, clean)
		}
	}
	g.alive()
}

// On kubelet's own file system drivers make links. They are followed as long as they stay inside.
func TestLinksOnTheWorkingDirectory(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(pods + `\links`)
	g.hostDir(`C:\var\lib\kubelet-evil\victim\inner`)
	for _, l := range []planted{
		{name: "windows", point: symlink(`\??\C:\Windows`)},
		{name: "canary", point: symlink(`\??\C:\canary`)},
		{name: "junction", point: mountPoint(`\??\C:\canary`)},
		{name: "lookalike", point: symlink(`\??\C:\var\lib\kubelet-evil`)},
		{name: "above", point: symlink(`\??\C:\var\lib`)},
		{name: "dots", point: symlink(`\??\` + pods + `\..\..\..\..\canary`)},
		{name: "shortname", point: symlink(`\??\C:\var\lib\KUBELE~1\pods\peer`)},
		{name: "guid", point: symlink(ntName(g.system) + `canary`)},
		{name: "mountsystem", point: mountPoint(ntName(g.system))},
		{name: "mountbelow", point: mountPoint(ntName(g.volume) + `plain`)},
		{name: "relative", point: relative(`..\..\..\..\..\canary`)},
		{name: "share", point: symlink(`\??\UNC\fs.emulated\share`)},
		{name: "foreign", point: win32.ReparsePoint{Tag: 0x8000001B, Raw: []byte("x")}},
		{name: "loop", point: symlink(`\??\` + pods + `\links\loopback`)},
		{name: "loopback", point: symlink(`\??\` + pods + `\links\loop`)},
		{name: "deeploop", point: symlink(`\??\` + pods + `\links\deeploop\x`)},
		{name: "indirect", point: symlink(`\??\` + pods + `\links\canary`)},
		{name: "intoplanted", point: symlink(`\??\` + mount + `\planted`)},
		{name: "host", host: g.unrelatedDir},
	} {
		if l.name == "intoplanted" {
			g.plant(mount+`\planted`, symlink(`\??\C:\canary`))
		}
		g.plantOne(pods+`\links`, l)
	}
	links, err := os.ReadDir(g.HostPath(pods + `\links`))
	g.OK(err)
	before := g.snapshot()
	for i, l := range links {
		if l.Name() != "loopback" && testnode.Sampled(t, i, 0, 3) { // loopback is the other half of a loop
			before = g.through(pods+`\links\`+l.Name(), before)
		}
	}

	// A chain of too many links ends the same way.
	g.hostDir(pods + `\chain`)
	for i := range 70 {
		g.plant(fmt.Sprintf(`%s\chain\%d`, pods, i), symlink(fmt.Sprintf(`\??\%s\chain\%d`, pods, i+1)))
	}
	g.hostDir(pods + `\chain\70`)
	g.hostDir(pods + `\chain\70\victim`)
	g.through(pods+`\chain\0`, g.snapshot())

	for _, l := range []planted{
		{name: "inside", point: symlink(`\??\` + pods + `\peer`)},
		{name: "insideupper", point: symlink(`\??\C:\VAR\LIB\KUBELET\PODS\PEER`)},
		{name: "insidejunction", point: mountPoint(`\??\` + pods + `\peer`)},
		{name: "twice", point: symlink(`\??\` + pods + `\links\inside`)},
		{name: "fewlinks", point: symlink(`\??\` + pods + `\chain\20`)},
	} {
		g.plantOne(pods+`\links`, l)
		if path := pods + `\links\` + l.name + `\victim`; !g.Exists(path) {
			t.Errorf("%s, through a link that stays inside, does not exist", path)
		}
	}
	g.alive()
}
