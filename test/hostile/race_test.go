// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// raceRounds is how many calls race with the attacker, for each kind of link: go test ./test/hostile -run Swapped
// -race-rounds 20000 races for longer.
var raceRounds = flag.Int("race-rounds", inLongRun(150, 10), "calls that race with the attacker, for each kind of link")

func inLongRun(long, short int) int {
	if testnode.Long() {
		return long
	}
	return short
}

// TestSwappedComponents calls through a directory of a volume while a workload replaces that directory with a link that
// leads outside, and back, as fast as it can. Whatever the calls do, nothing outside changes.
func TestSwappedComponents(t *testing.T) {
	links := linksOutside()
	links["other pod"] = func(g *target, path string) { g.plant(path, reparse.Symlink(pods+`\peer`)) }
	for name, link := range links {
		for _, objects := range []bool{false, true} { // Windows, to the handle that holds a mount point's directory
			t.Run(name, func(t *testing.T) {
				s := scenario.Default()
				s.Switches.MountPointCallsDelete = objects
				race(t, attack(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}}), link)
			})
		}
	}
}

// linksOutside returns what plants a link that leads outside the working directories, or outside the node.
func linksOutside() map[string]func(g *target, path string) {
	return map[string]func(g *target, path string){
		"symlink":  func(g *target, path string) { g.plant(path, reparse.Symlink(canary)) },
		"junction": func(g *target, path string) { g.plant(path, reparse.Junction(canary)) },
		"volume":   func(g *target, path string) { g.plant(path, reparse.Junction(g.system)) },
		"host":     func(g *target, path string) { g.OK(os.Symlink(g.unrelatedDir, g.HostPath(path))) },
	}
}

// TestLooksAtSwappedComponents asks, on kubelet's own file system, for what is only outside, and for what is only
// inside, while a directory on the way is a link that leads outside and, again and again, a plain one.
func TestLooksAtSwappedComponents(t *testing.T) {
	for name, link := range linksOutside() {
		t.Run(name, func(t *testing.T) {
			g := attack(t, testnode.Options{})
			g.hostDir(`C:\victim`) // for the mount point of the system volume
			g.hostDir(pods + `\plain\own`)
			link(g, pods+`\link`)
			at := func(name string) string { return filepath.Join(g.HostPath(pods), name) }
			ctx, stop := context.WithCancel(t.Context())
			swaps := make(chan int, 1)
			go func() {
				count := 0
				for ; ctx.Err() == nil; count++ {
					for _, from := range []string{"plain", "link"} {
						g.OK(errors.Join(os.Rename(at(from), at("swap")), os.Rename(at("swap"), at(from))))
					}
				}
				swaps <- count
			}()
			seen := map[string]int{}
			for range 20 * *raceRounds {
				for _, name := range []string{"victim", "own"} {
					exists, err := g.PathExists(pods + `\swap\` + name)
					seen[fmt.Sprint(name, " ", exists, " ", codeOf(err))]++
				}
			}
			stop()
			t.Logf("%d swaps, answers %v", <-swaps, seen)
			delete(seen, "own true OK")
			delete(seen, "own false OK") // in between, nothing is there
			delete(seen, "victim false OK")
			for answer := range seen {
				if !strings.HasSuffix(answer, "false "+codes.FailedPrecondition.String()) { // refused
					t.Errorf("an answer about something outside: %s", answer)
				}
			}
			g.alive()
		})
	}
}

// race swaps a directory of the mounted volume while calls go through it.
func race(t *testing.T, g *target, link func(g *target, path string)) {
	t.Helper()
	g.hostDir(`C:\victim\inner`) // for the mount point of the system volume
	g.WriteFile(`C:\victim\inner\file`, "canary")
	content := g.HostPath(mount)
	before := g.outside(content)
	link(g, mount+`\link`)
	swap, plain, linked := filepath.Join(content, "swap"), filepath.Join(content, "plain"), filepath.Join(content, "link")
	ctx, stop := context.WithCancel(t.Context())
	swapping := make(chan error, 1)
	swaps := 0
	go func() {
		for ctx.Err() == nil {
			if err := swapOnce(swap, plain, linked); err != nil {
				swapping <- err
				return
			}
			swaps++
		}
		swapping <- nil
	}()
	calls := g.callsNamed(mount+`\source`, "Rmdir", "RmdirContents", "Mkdir", "PathExists", "CreateSymlink")
	paths := []string{`\swap\victim`, `\swap\victim\inner`, `\swap\made\deeper`, `\swap\made`}
	seen := map[codes.Code]int{}
	for i := range *raceRounds {
		c, path := calls[i%len(calls)], mount+paths[i/len(calls)%len(paths)]
		err := c.do(path)
		code := codeOf(err)
		seen[code]++
		if code == codes.Internal || code == codes.Unknown {
			t.Errorf("%s of %s: %v", c.name, path, err)
		}
	}
	stop()
	if err := <-swapping; err != nil {
		t.Errorf("the attacker: %v", err)
	}
	if diff := cmp.Diff(before, g.outside(content)); diff != "" {
		t.Errorf("something outside the volume changed (-before +after):\n%s", diff)
	}
	t.Logf("%d swaps, results %v", swaps, seen)
	g.alive()
}

// swapOnce puts a plain directory in the place swap, then the link, and removes each again.
func swapOnce(swap, plain, linked string) error {
	deep := filepath.Join(plain, "victim", "inner", strings.Repeat("d/", 14)) // so deep that the agent moves some of it up
	err := os.MkdirAll(deep, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the agent removed it meanwhile, under the name that it had before
	}
	if err != nil {
		return err
	}
	_ = os.WriteFile(filepath.Join(plain, "victim", "inner", "file"), nil, 0o600) // the agent may be at work there
	for _, step := range [][2]string{{plain, swap}, {swap, plain}, {linked, swap}, {swap, linked}} {
		err := os.Rename(step[0], step[1])
		for tries := 0; err != nil && !errors.Is(err, fs.ErrNotExist); tries++ { // the agent made a directory there meanwhile
			if tries == 1000 {
				return err
			}
			_ = os.RemoveAll(step[1]) // fails while the agent fills it
			err = os.Rename(step[0], step[1])
		} // if it does not exist, the agent removed it before it could be swapped
	}
	return nil
}

// outside returns a snapshot without that directory, and without the space that files take.
func (g *target) outside(content string) snapshot {
	g.t.Helper()
	s := g.snapshot()
	inside, err := filepath.Rel(g.StateDir, content)
	g.OK(err)
	for name := range s {
		if strings.HasPrefix(name, "node/"+filepath.ToSlash(inside)) ||
			strings.HasPrefix(name, "tree of disk ") || name == "node/node.json" {
			delete(s, name)
		}
	}
	return s
}
