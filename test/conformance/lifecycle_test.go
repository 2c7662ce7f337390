// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestLifecycle takes a disk through a driver's whole life, with each version of the volume group and the
// versions of the other groups that came with it. Methods that a version lacks are called in its hub.
func TestLifecycle(t *testing.T) {
	eachVersion(t, "volume", func(t *testing.T, n site, all []served, at served) {
		wanted := []served{at, {"disk", closest(all, "disk", at.version)},
			{"filesystem", closest(all, "filesystem", at.version)}}
		d := newDriver(t, n, all, wanted...)
		var lacking []string
		for operation := range failures() {
			m := d.lookUp(operation)
			if m == nil || !slices.ContainsFunc(wanted, func(s served) bool { return s.group == m.api.group }) {
				continue // not even the hub has it, or it has no part in this life
			}
			if !slices.Contains(wanted, served{m.api.group, m.api.version}) {
				lacking = append(lacking, operation)
			}
		}
		slices.Sort(lacking)
		t.Logf("with %v; called in the hub: %v", wanted[1:], lacking)
		l := &life{driver: d, staging: `\var\lib\kubelet\plugins\kubernetes.io\csi\driver\1\globalmount`,
			publish: `c:\var\lib\kubelet\pods\1\volumes\mount`}
		for _, step := range []func(){l.find, l.prepare, l.stage, l.use, l.grow, l.unstage} {
			step()
		}
		lived(d, wanted...)
	})
}

// lived asserts that a life used all operations of the groups. After a success it logs the methods, for the evidence.
func lived(d *driver, groups ...served) {
	d.t.Helper()
	for _, operation := range slices.Sorted(maps.Keys(failures())) {
		m := d.lookUp(operation)
		if m == nil || !slices.ContainsFunc(groups, func(s served) bool { return s.group == m.api.group }) {
			continue
		}
		if err := d.site.maySetSecret(); m.succeeded == 0 && operation == "SetMutualChapSecret" && err != nil {
			d.t.Logf("not here: %v: %v", m, err)
			continue
		}
		if m.succeeded == 0 {
			d.t.Errorf("the life did not use %s", operation)
			continue
		}
		if !d.t.Failed() {
			d.t.Logf("proved: %v", m)
		}
	}
}

// A life is the life of a raw disk.
type life struct {
	*driver
	staging, publish string
	disk             uint32
	volume           string
}

// find finds the disk by its address and by its names.
func (l *life) find() {
	offered := l.site.disk(l.t)
	l.disk = offered.number
	caller.OK(l.t, l.rescan())
	at, found := l.listDiskLocations()[l.disk]
	if !found || offered.at != nil && at != *offered.at {
		l.t.Errorf("disk %d is at %+v (%t)", l.disk, at, found)
	}
	ids, found := l.listDiskIDs()[l.disk]
	if !found || offered.ids != nil && ids != *offered.ids {
		l.t.Errorf("disk %d is known by %+v (%t)", l.disk, ids, found)
	}
	if l.lookUp("GetDiskNumberByName") != nil {
		same(l.t, l.diskNumberByName(ids.Page83), l.disk)
	}
	same(l.t, l.diskSize(l.disk), offered.size)
}

// prepare makes a formatted volume on the disk.
func (l *life) prepare() {
	caller.OK(l.t, l.partitionDisk(l.disk))
	caller.OK(l.t, l.setOnline(l.disk, true))
	same(l.t, l.isOnline(l.disk), true)
	l.volume = l.volumesOn(l.disk)[0]
	same(l.t, l.isFormatted(l.volume), false)
	caller.OK(l.t, l.format(l.volume))
	same(l.t, l.isFormatted(l.volume), true)
}

// stage mounts the volume and links a pod's path to it.
func (l *life) stage() {
	same(l.t, l.exists(l.staging), false)
	caller.OK(l.t, l.mkdir(l.staging))
	caller.OK(l.t, l.mount(l.volume, l.staging))
	caller.OK(l.t, l.mkdir(l.publish[:strings.LastIndex(l.publish, `\`)]))
	caller.OK(l.t, l.link(l.publish, l.staging))
	for _, at := range []string{l.staging, l.publish} {
		same(l.t, l.exists(at), true)
		same(l.t, l.isSymlink(at), true)
		same(l.t, l.volumeAt(at), l.volume)
	}
	same(l.t, l.diskOf(l.volume), l.disk)
}

// use writes through the pod's path.
func (l *life) use() {
	before := l.volumeStats(l.volume)
	caller.OK(l.t, l.mkdir(l.publish+`\inside\deep`))
	l.write(l.publish+`\data`, strings.Repeat("precious", 1<<14))
	caller.OK(l.t, l.flush(l.volume))
	after := l.volumeStats(l.volume)
	if after.Total != before.Total || after.Used < before.Used+8<<14 {
		l.t.Errorf("%+v before writing, %+v after it", before, after)
	}
	same(l.t, l.closestVolume(l.publish+`\inside\deep`), l.volume)
	caller.OK(l.t, l.rmdirContents(l.publish+`\inside`))
	caller.OK(l.t, l.rmdir(l.staging, false)) // a mount point goes without its content
	caller.OK(l.t, l.mount(l.volume, l.staging))
	same(l.t, len(l.read(l.publish+`\data`)), 8<<14)
}

// grow grows the disk while the volume is in use.
func (l *life) grow() {
	l.site.grow(l.t, l.disk, 30*gib)
	caller.OK(l.t, l.rescan())
	same(l.t, l.diskSize(l.disk), int64(30*gib))
	caller.OK(l.t, l.resize(l.volume, 0))
	caller.OK(l.t, l.resize(fmt.Sprint(l.disk), 0))
	got := l.volumeStats(l.volume)
	const overhead = 64 << 20
	if got.Total < 30*gib-overhead || got.Total > 30*gib {
		l.t.Errorf("the file system has %d bytes on a disk of 30 GiB", got.Total)
	}
	same(l.t, len(l.read(l.publish+`\data`)), 8<<14)
}

// unstage undoes everything and takes the disk offline.
func (l *life) unstage() {
	caller.OK(l.t, l.rmdir(l.publish, true))
	caller.OK(l.t, l.unmount(l.volume, l.staging))
	same(l.t, l.isSymlink(l.staging), false)
	caller.OK(l.t, l.rmdir(l.staging, true))
	number := l.diskOf(l.volume)
	caller.OK(l.t, l.setOnline(number, false))
	same(l.t, l.isOnline(l.disk), false)
	l.fails("the volumes of an offline disk", codes.FailedPrecondition, "ListVolumesOnDisk", values{disk: l.disk})
}
