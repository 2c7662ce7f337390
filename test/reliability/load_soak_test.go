// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	loadDrivers   = 8
	loadDiskBytes = 64 << 20
)

// diskCount returns how many disks the drivers have; a SCSI target has 255 addresses.
func diskCount() int {
	if testing.Short() {
		return 40
	}
	return 200
}

// soak returns the duration of the load.
func soak(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("CSI_PROXY_SOAK")
	if text == "" {
		if testnode.Long() {
			return 20 * time.Second
		}
		return time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("CSI_PROXY_SOAK is %q, not a duration", text)
	}
	return d
}

func TestSoak(t *testing.T) {
	p := open(t)
	team, a := p.furnish(t)
	// One round without trouble, so that what is made at the first use exists when things are first counted.
	live(t, team, func() bool { return false })
	before := p.counts(t)

	p.trouble.Store(true)
	begin := time.Now()
	over := func() bool { return time.Since(begin) > soak(t) }
	var things []*thing
	var mu sync.Mutex
	var all sync.WaitGroup
	all.Go(func() { live(t, team, func() bool { return !over() && !t.Failed() }) })
	for kind := range kinds {
		all.Go(func() {
			for number := kind; !over(); number += kinds {
				th := a.newThing(number)
				if th.kind == "disk" { // it has a past
					p.online(t, a.disk)
				}
				th.contend(t, p, begin)
				mu.Lock()
				things = append(things, th)
				mu.Unlock()
			}
		})
	}
	all.Go(func() { p.vex(t, over) })
	all.Wait()
	p.trouble.Store(false)

	answered, unclearOnes := 0, 0
	for _, th := range things {
		if err := th.check(); err != nil {
			t.Error(err)
		}
		for _, o := range th.history {
			answered++
			if o.Output == any(output{unclear}) {
				unclearOnes++
			}
		}
	}
	lifecycles, retries := 0, 0
	for _, d := range team {
		d.to = p.client(t)
		lifecycles, retries = lifecycles+d.lifecycles, retries+d.retries
		for _, c := range d.claims {
			if c.stamp == "" {
				continue
			}
			for _, do := range d.life() {
				if err := d.perform(c, do); err != nil {
					t.Fatalf("in the end, %s: %v", c.serial, err)
				}
			}
		}
		d.to.close()
	}
	t.Logf("%v: %d lives on %d disks with %d retries; %d of %d kernel calls failed; %d restarts, %d reboots; %d "+
		"contended calls (%d unclear) about %d things in order",
		time.Since(begin).Round(time.Second), lifecycles, diskCount(), retries, p.failed.Load(), p.calls.Load(), p.restarts,
		p.reboots, answered, unclearOnes, len(things))
	things = nil
	p.removeContended(t)
	p.wantNoMore(t, before)
}

// live lets all drivers live until more returns false, at least once each.
func live(t *testing.T, team []*loadDriver, more func() bool) {
	t.Helper()
	var all sync.WaitGroup
	for _, d := range team {
		all.Go(func() {
			d.to = d.node.client(t)
			defer d.to.close()
			for again := true; again; again = more() {
				if err := d.live(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// vex restarts the agent and reboots the node, again and again.
func (p *loadNode) vex(t *testing.T, over func() bool) {
	for !over() {
		pause := time.NewTimer(time.Duration(500+rand.IntN(1500)) * time.Millisecond)
		<-pause.C
		change := p.restart
		if rand.IntN(2) == 0 {
			change = p.reboot
		}
		if err := change(); err != nil {
			t.Errorf("the agent or the node does not come back: %v", err)
			return
		}
	}
}

// furnish attaches the disks and makes the drivers and the arena.
func (p *loadNode) furnish(t *testing.T) ([]*loadDriver, arena) {
	t.Helper()
	team := make([]*loadDriver, loadDrivers)
	for i := range team {
		team[i] = &loadDriver{node: p}
	}
	var a arena
	err := p.onNode(func(n *emulated.Node) error {
		for i := range diskCount() {
			serial := fmt.Sprintf("load-%03d", i)
			if _, err := n.AttachDisk(bundle.Spec{SizeBytes: loadDiskBytes, SerialNumber: serial, LUNAuto: true,
				Offline: i%2 == 0, Target: 1}); err != nil {
				return err
			}
			team[i%loadDrivers].claims = append(team[i%loadDrivers].claims, &claim{serial: serial})
		}
		var err error
		a.disk, err = n.AttachDisk(bundle.Spec{SizeBytes: loadDiskBytes, LUNAuto: true, Target: 2})
		return err
	})
	caller.OK(t, err)
	c := p.client(t)
	defer c.close()
	for i := range a.volumes {
		var number uint32
		err := p.onNode(func(n *emulated.Node) (err error) {
			number, err = n.AttachDisk(bundle.Spec{SizeBytes: loadDiskBytes, LUNAuto: true, Target: 2, Formatted: true})
			return err
		})
		c.OK(err)
		a.volumes[i] = c.Volumes(number)[0]
	}
	c.OK(c.Mkdir(contended))
	return team, a
}

// removeContended removes what the contenders left. The node keeps a mounted volume open.
func (p *loadNode) removeContended(t *testing.T) {
	t.Helper()
	c := p.client(t)
	defer c.close()
	c.OK(c.Rmdir(contended, true))
}

// online brings a disk online, whatever that takes.
func (p *loadNode) online(t *testing.T, number uint32) {
	d := &loadDriver{to: p.client(t)}
	defer d.to.close()
	err := d.perform(nil, func(to *caller.Calls, _ *claim) error { return to.SetDiskState(number, true) })
	if err != nil {
		t.Error(err)
	}
}
