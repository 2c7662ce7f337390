// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// crashDrivers work at the same time, each on a disk of its own.
const crashDrivers = 2

// longestRun is how long the agent lives at most before it is killed; a life takes a good part of that.
const longestRun = 300 * time.Millisecond

// crashDriver lives one life after the other.
type crashDriver struct {
	index   int
	count   int
	life    *life
	resume  int // the step to continue with
	staged  string
	retried int
}

func (d *crashDriver) next() {
	d.count++
	d.life = &life{name: fmt.Sprintf("disk-%d-%d", d.count, d.index)}
	d.resume = 0
}

// work goes on until an error, which is expected once the agent was killed. Every life must look like the first
// when its volume is staged.
func (d *crashDriver) work(ctx context.Context, c *crashClients) error {
	for {
		if err := d.stage(ctx, c); err != nil {
			return err
		}
		if err := d.life.live(ctx, c, len(d.life.acked), ""); err != nil {
			return err
		}
		d.next()
	}
}

// stage brings the life to where its volume is staged, if it is not past that, and compares.
func (d *crashDriver) stage(ctx context.Context, c *crashClients) error {
	all := steps()
	last := 0
	for all[last].name != lastOfStage {
		last++
	}
	if len(d.life.acked) > last+1 || len(d.life.begun) > last+1 {
		return nil
	}
	if d.resume <= last {
		if err := d.life.live(ctx, c, d.resume, lastOfStage); err != nil {
			return err
		}
	}
	portrait, err := d.life.portrait(ctx, c)
	if err != nil {
		return fmt.Errorf("the staged %s: %w", d.life.name, err)
	}
	if d.staged == "" {
		d.staged = portrait
	}
	if diff := cmp.Diff(d.staged, portrait); diff != "" {
		return fmt.Errorf("%s, interrupted %d times, differs when it is staged (-undisturbed +interrupted):\n%s",
			d.life.name, d.retried, diff)
	}
	return nil
}

// interrupted chooses where to continue: at the interrupted step or, like kubelet, with the whole stage again.
func (d *crashDriver) interrupted(r *rand.Rand) {
	d.retried++
	d.resume = len(d.life.acked)
	if r.IntN(2) == 0 {
		d.resume = 0
	}
}

func TestKilledAgentLosesNothingAcknowledged(t *testing.T) {
	need(t, "sgdisk", "file")
	dir, r := testnode.ShortDir(t), chance(t)
	p := launch(t, dir)
	c := p.dial(t)

	team := make([]*crashDriver, crashDrivers)
	for i := range team {
		team[i] = &crashDriver{index: i}
		team[i].next()
		if err := team[i].stage(t.Context(), c); err != nil { // undisturbed, for comparison
			t.Fatal(err)
		}
	}
	for kill := range crashes(t) {
		if err := killAtWork(t, p, c, team, upTo(r, longestRun)); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		p = launch(t, dir)
		c = p.dial(t)
		for _, d := range team {
			if err := d.life.intact(t.Context(), c); err != nil {
				t.Fatalf("after kill %d: %v", kill, err)
			}
			d.interrupted(r)
		}
		checkImages(t, dir, team)
	}

	// In the end every driver finishes, and nothing is left over.
	for _, d := range team {
		err := d.stage(t.Context(), c)
		if err == nil {
			err = d.life.live(t.Context(), c, len(d.life.acked), "")
		}
		if err == nil {
			err = d.life.intact(t.Context(), c)
		}
		if err != nil {
			t.Errorf("after all kills: %v", err)
		}
		t.Logf("driver %d: %d lives, %d interruptions", d.index, d.count, d.retried)
	}
	checkImages(t, dir, nil)
	tree, err := c.admin.GetTree(t.Context(), &admin.GetTreeRequest{})
	if err != nil || len(tree.GetDisks()) != 3 {
		t.Errorf("in the end there are %d disks (%v), want the node's own 3", len(tree.GetDisks()), err)
	}
}

// killAtWork lets the drivers work for a while and kills the agent. It returns the first error of a driver that the
// agent's death does not explain.
func killAtWork(t *testing.T, p *process, c *crashClients, team []*crashDriver, after time.Duration) error {
	t.Helper()
	var killed atomic.Bool
	failures := make([]error, len(team))
	trouble := make(chan struct{}, len(team))
	var working sync.WaitGroup
	for i, d := range team {
		working.Go(func() {
			err := d.work(t.Context(), c)
			if !killed.Load() || status.Code(err) != codes.Unavailable {
				failures[i] = err
				trouble <- struct{}{}
			}
		})
	}
	moment := time.NewTimer(after)
	defer moment.Stop()
	select {
	case <-moment.C:
	case <-trouble:
	}
	killed.Store(true)
	p.Kill()
	working.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestKilledWhileBooting kills the first start of a node, and some of the next ones. The node comes up nevertheless,
// and is the right one.
func TestKilledWhileBooting(t *testing.T) {
	need(t, "sgdisk", "file")
	r := chance(t)
	start := time.Now()
	undisturbed := launch(t, testnode.ShortDir(t))
	boot := time.Since(start)
	want := crashScenario(t, undisturbed.dial(t))
	undisturbed.Kill()

	for range crashes(t) {
		dir := testnode.ShortDir(t)
		for range 1 + r.IntN(3) {
			p := begin(t, dir)
			moment := time.NewTimer(upTo(r, boot))
			<-moment.C
			p.Kill()
		}
		p := launch(t, dir)
		if diff := cmp.Diff(want, crashScenario(t, p.dial(t))); diff != "" {
			t.Errorf("a node whose first start was interrupted differs (-undisturbed +interrupted):\n%s", diff)
		}
		p.Kill()
		checkImages(t, dir, nil)
	}
}

// crashScenario returns the agent's view of a node, without the GUIDs, which are made for each.
func crashScenario(t *testing.T, c *crashClients) []string {
	t.Helper()
	tree, err := c.admin.GetTree(t.Context(), &admin.GetTreeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var disks []string
	for _, d := range tree.GetDisks() {
		for _, p := range d.GetPartitions() {
			if v := p.GetVolume(); v != nil {
				v.Id = "ID"
			}
		}
		disks = append(disks, strings.Join(strings.Fields(prototext.Format(d)), " "))
	}
	for _, path := range []string{`C:\Windows\System32`, `C:\var\lib\kubelet\plugins`, `C:\var\lib\kubelet\pods`} {
		reply, err := c.admin.GetPath(t.Context(), &nodeapi.GetPathRequest{WindowsPath: path + `\x`})
		if err != nil || reply.GetHostPath() == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	return disks
}
