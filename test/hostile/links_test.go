// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
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
	noError(g.t, os.Symlink(g.unrelatedDir, made))
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
	noError(g.t, os.Symlink(l.host, filepath.Join(g.HostPath(dir), l.name)))
}

// through calls every method that takes a path with a path through a link, and expects each call to be refused.
func (g *target) through(link string, before snapshot) snapshot {
	g.t.Helper()
	number := len(link) // a different sample for each
	for _, below := range []string{`\victim`, `\new\deeper`} {
		g.eachField(kind.isPath, func(m method, f field, request values) {
			if number++; !testnode.Sampled(g.t, number, 0, 11) {
				return
			}
			request[f.name] = link + below
			_, err := g.call(g.t.Context(), m, m.encode(g.t, request))
			wantCode(g.t, fmt.Sprintf("%v, %s %s", m, f.name, link+below), err, codes.FailedPrecondition)
		})
	}
	return g.unchanged("going through "+link, before)
}

func TestLinksInAVolumeAreNotFollowed(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(mount + `\plain\victim\inner`)
	links := workloadLinks(g)
	g.plantAll(mount, links)
	before := g.snapshot()
	for i, l := range links {
		if testnode.Sampled(t, i, 0, 3) {
			before = g.through(mount+`\`+l.name, before)
		}
	}
	// Through the publish link of a driver, on kubelet's file system, the result is the same.
	_, err := g.Filesystem.CreateSymlink(t.Context(),
		&filesystem.CreateSymlinkRequest{SourcePath: mount, TargetPath: pods + `\publish`})
	noError(t, err)
	g.through(pods+`\publish\canary`, g.snapshot())
	g.alive()
}

func TestLinksInAVolumeAsTheyAre(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(mount + `\plain\victim\inner`)
	links := workloadLinks(g)
	g.plantAll(mount, links)
	before := g.snapshot()
	for i, l := range links {
		if !testnode.Sampled(t, i, 0, 3) {
			continue
		}
		path := mount + `\` + l.name
		exists, err := g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: path})
		if err != nil || !exists.GetExists() {
			t.Errorf("PathExists(%s): %v, %v, want true", path, exists.GetExists(), err)
		}
		is, err := g.Filesystem.IsSymlink(t.Context(), &filesystem.IsSymlinkRequest{Path: path})
		if err != nil || is.GetIsSymlink() != l.there {
			t.Errorf("IsSymlink(%s): %v, %v, want %v", path, is.GetIsSymlink(), err, l.there)
		}
		_, err = g.Filesystem.RmdirContents(t.Context(), &filesystem.RmdirContentsRequest{Path: path})
		wantCode(t, "RmdirContents of "+path, err, codes.FailedPrecondition)
		_, err = g.Filesystem.CreateSymlink(t.Context(),
			&filesystem.CreateSymlinkRequest{SourcePath: pods + `\peer`, TargetPath: path})
		want := codes.AlreadyExists
		if l.name == "peer" { // the very link
			want = codes.OK
		}
		wantCode(t, "CreateSymlink at "+path, err, want)
		if !l.own { // its own volume is mounted there: MountVolume has nothing to do, UnmountVolume has
			_, err = g.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: g.volume, TargetPath: path})
			wantCode(t, "MountVolume at "+path, err, codes.FailedPrecondition)
			_, err = g.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: g.volume, TargetPath: path})
			wantCode(t, "UnmountVolume at "+path, err, codes.FailedPrecondition)
		}
		before = g.unchanged("calls on "+path, before)
	}
	g.alive()
}

// Rmdir removes links themselves, alone or in a tree, and nothing behind them.
func TestRmdirRemovesPlantedLinksThemselves(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(mount + `\plain\victim\inner`)
	rmdir := func(path string, force bool) error {
		_, err := g.Filesystem.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: path, Force: force})
		return err
	}
	clean := g.snapshot()
	links := workloadLinks(g)
	for _, force := range []bool{false, true} {
		g.plantAll(mount, links)
		for _, l := range links {
			wantCode(t, fmt.Sprintf("Rmdir(%s, %t)", l.name, force), rmdir(mount+`\`+l.name, force), codes.OK)
		}
		g.unchanged(fmt.Sprintf("planting links and removing each, force %t,", force), clean)
	}

	for name, remove := range map[string]func(dir string) error{
		"Rmdir": func(dir string) error { return rmdir(dir, true) },
		"RmdirContents": func(dir string) error {
			_, err := g.Filesystem.RmdirContents(t.Context(), &filesystem.RmdirContentsRequest{Path: dir})
			if err == nil {
				err = rmdir(dir, false)
			}
			return err
		},
	} {
		for _, tree := range []string{mount + `\tree`, pods + `\tree`} { // in a volume, and on kubelet's own file system
			for _, dir := range []string{tree, tree + `\a`, tree + `\a\b`} {
				g.hostDir(dir)
				g.plantAll(dir, links)
				g.WriteFile(dir+`\file`, "goes")
			}
			noError(t, os.Chmod(g.HostPath(tree+`\a\file`), 0o400)) // read-only files go too
			noError(t, remove(tree))
			g.unchanged(name+" of a tree with planted links at "+tree, clean)
		}
	}
	g.alive()
}

// Planted mount points cost nothing but themselves: only what the mount manager knows is flushed, each volume once.
func TestPlantedMountPointsAreNotFlushed(t *testing.T) {
	g := attack(t, testnode.Options{})
	tree := pods + `\tree`
	for i := range 200 {
		if i%10 == 0 {
			g.hostDir(fmt.Sprintf(`%s\%d`, tree, i))
		}
		dir := fmt.Sprintf(`%s\%d`, tree, i/10*10)
		g.plant(fmt.Sprintf(`%s\system%d`, dir, i), mountPoint(ntName(g.system)))
		g.plant(fmt.Sprintf(`%s\own%d`, dir, i), mountPoint(ntName(g.volume)))
		g.plant(fmt.Sprintf(`%s\gone%d`, dir, i), mountPoint(fmt.Sprintf(`\??\Volume{12345678-9abc-def0-1234-%012x}\`, i)))
	}
	flushes := func() (volumes []string) {
		for _, call := range g.Faults.Calls() {
			if call.Function == "Flush" {
				volumes = append(volumes, call.Object)
			}
		}
		return volumes
	}
	flushes()
	_, err := g.Filesystem.RmdirContents(t.Context(), &filesystem.RmdirContentsRequest{Path: tree})
	noError(t, err)
	if got := flushes(); len(got) > 0 {
		t.Errorf("removing planted mount points flushed %q", got)
	}
	for _, path := range []string{`\a`, `\b\c`} {
		_, err := g.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: g.volume, TargetPath: tree + path})
		noError(t, err)
	}
	_, err = g.Filesystem.Rmdir(t.Context(), &filesystem.RmdirRequest{Path: tree, Force: true})
	noError(t, err)
	if got, want := flushes(), []string{strings.TrimSuffix(g.volume, `\`)}; !slices.Equal(got, want) {
		t.Errorf("removing two mount points of a volume flushed %q, want %q", got, want)
	}
	names, err := g.Emulated.VolumePathNames(g.volume)
	noError(t, err)
	if want := []string{mount + `\`}; !slices.Equal(names, want) {
		t.Errorf("the mount manager lists %q, want %q", names, want)
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
	noError(t, err)
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
		path := pods + `\links\` + l.name + `\victim`
		exists, err := g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: path})
		if err != nil || !exists.GetExists() {
			t.Errorf("PathExists(%s), through a link that stays inside: %v, %v, want true", path, exists.GetExists(), err)
		}
	}
	g.alive()
}
