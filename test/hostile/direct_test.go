// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// scratch is a directory in which a workload writes without a volume of its own, as in an emptyDir: paths below it are
// looked at in one call.
const scratch = pods + `\victim\scratch`

// linksRefused are the ways in which a system may answer an open that refuses links on the way.
func linksRefused() []string {
	return []string{emulated.LinksRefusedOnTheWay, emulated.LinksRefusedEverywhere,
		emulated.LinksRefusedNever}
}

// attackRefusing is attack on a node with the answer.
func attackRefusing(t *testing.T, refused string) *target {
	t.Helper()
	switches := emulated.DefaultSwitches()
	switches.LinksRefused = refused
	g := attack(t, testnode.Options{Emulated: emulated.Options{Switches: &switches}})
	g.follows = refused == emulated.LinksRefusedNever
	return g
}

func (g *target) refuseLinks(how string) {
	g.t.Helper()
	_, err := g.admin.SetSwitch(g.t.Context(), &nodeapi.SetSwitchRequest{Name: "linksRefused", Value: how})
	noError(g.t, err)
}

// opensDirectly reports whether a look at a path opened the working directory and the path, and nothing between them.
func (g *target) opensDirectly(path string) bool {
	g.t.Helper()
	before := g.Newest()
	_, err := g.Filesystem.PathExists(g.t.Context(), &filesystem.PathExistsRequest{Path: path})
	noError(g.t, err)
	opened := 0
	for _, e := range g.Journal() {
		if e.GetSequence() > before && e.GetKernel().GetFunction() == "OpenFile" {
			opened++
		}
	}
	return opened == 2
}

// TestSwapDuringCall is TestSwappedComponents where paths are looked at in one call, on systems with each answer, and on
// one that stops refusing links in the middle of it.
func TestSwapDuringCall(t *testing.T) {
	links := map[string]func(g *target, path string){
		"symlink":  func(g *target, path string) { g.plant(path, symlink(`\??\`+canary)) },
		"junction": func(g *target, path string) { g.plant(path, mountPoint(`\??\`+canary)) },
		"volume":   func(g *target, path string) { g.plant(path, mountPoint(ntName(g.system))) },
		"host": func(g *target, path string) {
			dir, base := path[:strings.LastIndex(path, `\`)], path[strings.LastIndex(path, `\`)+1:]
			noError(g.t, os.Symlink(g.unrelatedDir, filepath.Join(g.HostPath(dir), base)))
		},
	}
	rounds := 25
	if !testnode.Long() {
		rounds = 3
	}
	subject := 0
	for name, link := range links {
		for i, refused := range linksRefused() {
			if !testnode.Sampled(t, i, subject, 6) {
				continue
			}
			t.Run(fmt.Sprintf("%s, refused %s", name, refused), func(t *testing.T) {
				onEitherWindows(t, i, func(t *testing.T, switches *emulated.Switches) {
					switches.LinksRefused = refused
					g := attack(t, testnode.Options{Emulated: emulated.Options{Switches: switches}})
					g.hostDir(scratch)
					if !g.opensDirectly(scratch) {
						t.Error("a path without links is walked")
					}
					race(t, g, scratch, link, rounds, nil)
				})
			})
		}
		if testnode.Sampled(t, len(linksRefused()), subject, 4) {
			t.Run(name+", refused no more", func(t *testing.T) {
				g := attackRefusing(t, emulated.LinksRefusedOnTheWay)
				g.hostDir(scratch)
				race(t, g, scratch, link, rounds, func(round int) {
					if round == rounds/2 {
						g.refuseLinks(emulated.LinksRefusedNever)
					}
				})
			})
		}
		subject++
	}
}

// TestLinksFollowedAllTheSame: a system follows links on the way although they are to be refused. The agent notices an
// object that was opened through one, and leaves it as it is.
func TestLinksFollowedAllTheSame(t *testing.T) {
	number := 0
	for _, m := range methods(t) {
		for _, f := range m.fields {
			for i, below := range []string{`\victim`, `\victim\inner`, `\made`} {
				if !f.kind.isPath() || !testnode.Sampled(t, 3*number+i, 0, 7) {
					continue
				}
				t.Run(fmt.Sprintf("%v, %s %s", m, f.name, below[1:]), func(t *testing.T) {
					g := attackRefusing(t, emulated.LinksRefusedNever)
					g.hostDir(scratch)
					g.plant(scratch+`\link`, symlink(`\??\`+canary))
					before := g.snapshot()
					request := g.harmless(m)
					request[f.name] = scratch + `\link` + below
					_, err := g.call(t.Context(), m, m.encode(t, request))
					if code := codeOf(err); code != codes.FailedPrecondition && below != `\made` {
						t.Errorf("%v, want %v", err, codes.FailedPrecondition)
					}
					g.unchanged("the call", before)
					_, err = g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: scratch + `\link\victim`})
					wantCode(t, "PathExists", err, codes.FailedPrecondition)
					g.alive()
				})
			}
			number++
		}
	}
}
