// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The places on the attacked node.
const (
	kubelet = `C:\var\lib\kubelet`
	pods    = kubelet + `\pods`
	mount   = pods + `\victim\mount` // of the volume on disk 1
	canary  = `C:\canary`            // outside every working directory
	share   = caller.Share
)

// target is an agent under attack: a volume is mounted and holds a file, disk 2 is offline and raw, and outside
// the working directories lie files that must survive.
type target struct {
	*caller.Node
	t            *testing.T
	volume       string // the id of the mounted volume
	system       string // the id of the volume that Windows runs from
	unrelatedDir string // a host directory that is not part of the node
}

func attack(t *testing.T, o testnode.Options) *target {
	t.Helper()
	g := &target{Node: caller.Start(t, o), t: t, unrelatedDir: t.TempDir()}
	g.volume = g.Raw(1)
	var err error
	for { // a busy machine may need longer than the calls' deadline that the test has chosen
		if err = g.FormatVolume(g.volume); codeOf(err) != codes.DeadlineExceeded {
			break
		}
	}
	g.OK(err)
	g.OK(g.MountVolume(g.volume, mount))
	g.system = g.Volumes(0)[0]
	g.WriteFile(mount+`\data`, "precious")
	for _, dir := range []string{canary, pods + `\peer`} {
		g.hostDir(dir + `\victim\inner`)
		g.WriteFile(dir+`\victim\inner\file`, "canary")
	}
	g.OK(os.MkdirAll(filepath.Join(g.unrelatedDir, "victim", "inner"), 0o755))
	g.OK(os.WriteFile(filepath.Join(g.unrelatedDir, "victim", "inner", "file"), []byte("canary"), 0o600))
	return g
}

// hostDir makes a directory and its parents on the node, past the agent.
func (g *target) hostDir(path string) {
	g.t.Helper()
	at := `C:`
	for _, name := range strings.Split(path, `\`)[1:] {
		at += `\` + name
		if err := os.Mkdir(g.HostPath(at), 0o755); err != nil && !os.IsExist(err) {
			g.t.Fatal(err)
		}
	}
}

// plant makes a reparse point, as a process in a Windows container may do where it can write.
func (g *target) plant(path string, point win32.ReparsePoint) {
	g.t.Helper()
	g.OK(reparse.Plant(g.Emulated, path, point))
}

// alive reports whether the agent still serves.
func (g *target) alive() {
	g.t.Helper()
	if is, err := g.PathExists(mount); err != nil || !is {
		g.t.Fatalf("afterwards the agent answers PathExists(%s) with %v, %v", mount, is, err)
	}
}

// snapshot is everything that a call could have changed.
type snapshot map[string]string

// snapshot looks at the node's files, at the bytes of its disks, at the tree that the agent shows, and at the host
// directory outside the node. What steps note for themselves does not count.
func (g *target) snapshot() snapshot {
	g.t.Helper()
	s := snapshot{}
	for prefix, dir := range map[string]string{"node": g.StateDir, "spare": g.unrelatedDir} {
		g.OK(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(dir, path)
			if prefix == "node" && (name == "run" || name == "records") {
				return fs.SkipDir
			}
			s[prefix+"/"+filepath.ToSlash(name)] = g.describe(path, d)
			return nil
		}))
	}
	for _, d := range g.Tree().Disks {
		text, err := json.Marshal(d)
		caller.OK(g.t, err)
		s[fmt.Sprintf("tree of disk %d", d.Number)] = string(text)
	}
	return s
}

func (g *target) describe(path string, d fs.DirEntry) (what string) {
	g.t.Helper()
	info, err := d.Info()
	g.OK(err)
	what = info.Mode().String()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		g.OK(err)
		what += " " + to
	case info.Mode().IsRegular():
		what += fmt.Sprintf(" %d %s", info.Size(), csiproxytest.Digest(g.t, path))
	}
	return what
}

// unchanged compares with an earlier snapshot and goes on from the new one, so that one fault is reported once.
func (g *target) unchanged(what any, before snapshot) snapshot {
	g.t.Helper()
	after := g.snapshot()
	if diff := cmp.Diff(before, after); diff != "" {
		g.t.Errorf("%v changed something (-before +after):\n%s", what, diff)
	}
	return after
}

func codeOf(err error) codes.Code { return status.Code(err) }

func wantCode(t *testing.T, what any, err error, want codes.Code) {
	t.Helper()
	if got := codeOf(err); got != want {
		t.Errorf("%v: code %v, want %v (%.300v)", what, got, want, err)
	}
}
