// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/powercut"
)

// watched returns a directory for a node whose host's disk is watched, and options for the node.
func watched(t *testing.T) (dir string, disk *powercut.Disk, o Options) {
	t.Helper()
	host := filepath.Join(t.TempDir(), "host")
	must(t, os.Mkdir(host, 0o700))
	disk = powercut.Watch(t, host)
	return filepath.Join(host, "node"), disk, Options{Scenario: smallScenario(), Before: disk.Before}
}

// prepared returns the node of a case, before its change, and the disk that it is on.
func (c crashCase) prepared(t *testing.T) (*Node, *powercut.Disk) {
	t.Helper()
	dir, disk, o := watched(t)
	n := openNode(t, dir, o)
	c.prepare(t, n)
	disk.Sync()
	return n, disk
}

// losses returns what power cuts take: nothing, everything, and random mixes.
func losses(t *testing.T) []powercut.Loss {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return powercut.Losses(seed, 1)
}

// cutCount counts the power cuts of a test, and those that it would make without a sample.
type cutCount struct{ cuts, all int }

func (c cutCount) String() string {
	return fmt.Sprintf("%d of %d power cuts (CSI_PROXY_LONG=all tries all)", c.cuts, c.all)
}

// cut cuts the power in each way and checks what is left: the state before or after the change, or the one that is
// wanted.
func (c crashCase) cut(t *testing.T, n *Node, disk *powercut.Disk, losses []powercut.Loss, want string, count *cutCount) {
	t.Helper()
	for _, loss := range losses {
		disk.Cut(loss, func() {
			count.cuts++
			restarted, err := Open(n.dir, Options{NoSync: true})
			if err != nil {
				t.Errorf("%s, and the node does not start: %v", loss, err)
				return
			}
			if got := c.state(t, restarted); want != "" && got != want {
				t.Errorf("%s, and the state is the %s one", loss, got)
			}
			checkTidy(t, restarted)
			must(t, restarted.Close())
		})
	}
}

// TestEveryChangeSurvivesAPowerLoss: the host loses its power before one of the operations of a change, or right after
// the last one. A change whose success was reported is never lost.
func TestEveryChangeSurvivesAPowerLoss(t *testing.T) {
	sampled := stride() > 1
	var count cutCount
	for i, c := range crashCases() {
		t.Run(c.name, func(t *testing.T) {
			n, disk := c.prepared(t)
			losses := losses(t)
			step := 0
			disk.At = func(change, path string) error {
				some := losses
				count.all += len(losses)
				if sampled { // one step of a few, in one of the ways
					some = losses[(i+step)%3:][:1]
				}
				if step++; !sampled || step%11 == i%11 {
					c.cut(t, n, disk, some, "", &count)
					if t.Failed() {
						t.Fatalf("the power is cut before step %d, %s %s", step, change, path)
					}
				}
				return nil
			}
			must(t, c.change(n))
			disk.At = nil
			count.all += len(losses)
			if sampled {
				losses = losses[:1]
			}
			c.cut(t, n, disk, losses, "new", &count)
		})
	}
	t.Log(count)
}

// TestCreationSurvivesAPowerLoss: the host loses its power while a node is made.
func TestCreationSurvivesAPowerLoss(t *testing.T) {
	every := 4*stride() - 3
	dir, disk, o := watched(t)
	losses := losses(t)
	step, cuts := 0, 0
	cut := func() {
		for _, loss := range losses {
			disk.Cut(loss, func() {
				cuts++
				n, err := Open(dir, Options{Scenario: smallScenario(), NoSync: true})
				if err != nil {
					t.Fatalf("before step %d %s, and the node does not start: %v", step, loss, err)
				}
				if _, err := os.Stat(hostPath(t, n, `C:\Windows\System32`)); err != nil || len(n.diskList()) != 3 {
					t.Errorf("before step %d %s: %d disks, %v", step, loss, len(n.diskList()), err)
				}
				if _, err := os.Stat(sharePath(n.dir, "fs.emulated", "share")); err != nil {
					t.Errorf("before step %d %s: %v", step, loss, err)
				}
				checkImages(t, n)
				must(t, n.Close())
			})
		}
	}
	disk.At = func(string, string) error {
		if step++; step%every == 0 {
			cut()
		}
		return nil
	}
	n := openNode(t, dir, o)
	disk.At = nil
	was := n.state.SystemSerial
	cut()
	disk.Cut(losses[0], func() {
		restarted := openNode(t, dir, Options{})
		if d, err := restarted.DiskImage(1); err != nil || restarted.state.Disks[1].Image != n.state.Disks[1].Image ||
			restarted.state.SystemSerial != was {
			t.Errorf("another node: %s, %v", d, err)
		}
		must(t, restarted.Close())
	})
	t.Log(cutCount{cuts, (step + 1) * len(losses)})
}

// TestObservedStateSurvivesAPowerLoss: an operation of the host fails, or the process dies before it, the driver tries
// again, and then the host loses its power. No answered call is lost.
func TestObservedStateSurvivesAPowerLoss(t *testing.T) {
	var count cutCount
	tried := 0
	for i, c := range crashCases() {
		steps := 0
		t.Run(c.name, func(t *testing.T) {
			n, disk := c.prepared(t)
			disk.At = func(string, string) error { steps++; return nil }
			must(t, c.change(n))
		})
		for _, dies := range []bool{false, true} {
			for target := range steps {
				// The last step is telling: often the change is there by then, and not durable.
				sampled := target == steps-1 && dies == (i%2 != 0) || target == 1 && steps < 8 && !dies
				if stride() == 1 {
					sampled = sampled || target == steps-1 || target%11 == i%11
				}
				if count.all++; os.Getenv("CSI_PROXY_LONG") != "all" && !sampled {
					continue
				}
				tried++
				t.Run(fmt.Sprintf("%s, step %d, dies %t", c.name, target, dies), func(t *testing.T) {
					c.tryAgain(t, target, dies, &count)
				})
			}
		}
	}
	t.Logf("%d power cuts, after %d of %d failures (CSI_PROXY_LONG=all tries all)", count.cuts, tried, count.all)
}

// tryAgain disturbs one step of a change, tries again, and cuts the power.
func (c crashCase) tryAgain(t *testing.T, target int, dies bool, count *cutCount) {
	t.Helper()
	n, disk := c.prepared(t)
	failure := hostFailures[target%len(hostFailures)]
	step := 0
	disk.At = func(change, path string) error {
		if step++; step-1 == target || step > target && dies {
			t.Logf("%s %s: %v", change, path, failure)
			return failure
		}
		return nil
	}
	if err := c.change(n); err == nil {
		t.Error("the call succeeds")
	}
	disk.At = nil
	if dies {
		must(t, n.Close())
		n = openNode(t, n.dir, Options{Before: disk.Before})
	}
	before := c.state(t, n)
	if before == "old" && c.name == "restore" { // what it restores is prepared anew
		c.cut(t, n, disk, losses(t)[:1], "old", count)
		return
	}
	if before == "old" {
		if err := c.change(n); err != nil {
			t.Errorf("the retry ends with %v", err)
		}
		if got := c.state(t, n); got != "new" {
			t.Errorf("after the retry the state is the %s one", got)
		}
	}
	checkTidy(t, n)
	losses := losses(t)
	c.cut(t, n, disk, losses[:1], "new", count)
	if stride() == 1 {
		c.cut(t, n, disk, losses[2:], "new", count)
	}
}

// hostFailures are what operations of the host fail with.
var hostFailures = []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EMFILE, syscall.EROFS}

// TestSyncErrorsAreReported: where the system cannot make something durable, a change fails. Short of a power loss,
// nothing else shows whether the system was asked.
func TestSyncErrorsAreReported(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	if err := new(host).sync(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a pipe: %v, want EINVAL, as of fsync(2)", err)
	}
	processes, err := os.Open("/proc")
	must(t, err)
	defer processes.Close()
	if err := new(host).syncNames(processes); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the directory of the processes: %v, want EINVAL", err)
	}
	if err := new(host).syncAll(os.NewFile(1<<20, "none")); !errors.Is(err, syscall.EBADF) {
		t.Errorf("everything, by a file that is not open: %v, want EBADF, as of syncfs(2)", err)
	}
}
