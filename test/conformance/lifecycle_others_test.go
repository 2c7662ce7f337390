// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// The lives of shares, targets and services, with each version that can live them.

// TestShareLifecycle maps a share as kubelet's SMB drivers do.
func TestShareLifecycle(t *testing.T) {
	eachVersion(t, "smb", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		s := n.share(t)
		noError(t, d.mkdir(pods+`\1`)) // on a machine, only what is below it is removed
		link := pods + `\1\share-` + at.version
		wantCode(t, "a wrong password", d.mapShare(s.remote, "", s.user, s.password+"x"), codes.Unauthenticated)
		for range 2 {
			noError(t, d.mapShare(s.remote, link, s.user, s.password))
		}
		d.write(link+`\file`, "shared")
		same(t, d.read(link+`\file`), "shared")
		noError(t, d.rmdir(link, true))
		for range 2 {
			noError(t, d.unmapShare(s.remote))
		}
		lived(d, at)
	})
}

// TestTargetLifecycle logs in to a target and out again.
func TestTargetLifecycle(t *testing.T) {
	eachVersion(t, "iscsi", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		offered := n.target(t)
		d.array = offered.portal
		noError(t, d.startService("MSiSCSI"))
		for range 2 {
			noError(t, d.addPortal())
		}
		known, err := d.portals()
		noError(t, err)
		if want := (address{offered.portal.Name, 3260}); !slices.Contains(known, want) {
			t.Errorf("the portals are %v, without %v", known, want)
		}
		found, err := d.discover()
		noError(t, err)
		if !slices.Contains(found, offered.name) {
			t.Errorf("found the targets %q, not %q", found, offered.name)
		}
		wantCode(t, "a login without CHAP", d.connect(offered.name), codes.Unauthenticated)
		for range 2 {
			noError(t, d.connectWith(offered.name, offered.chapUser, offered.chapKey))
		}
		disks, err := d.targetDisks(offered.name)
		noError(t, err)
		if len(disks) != 1 {
			t.Fatalf("the target's disks are %q", disks)
		}
		size, err := d.diskSize(diskNumber(t, disks[0]))
		if noError(t, err); size < gib {
			t.Errorf("the target's disk has %d bytes", size)
		}
		if d.lookUp("SetMutualChapSecret") != nil && n.maySetSecret() == nil {
			noError(t, d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}))
		}
		for range 2 {
			noError(t, d.disconnect(offered.name))
		}
		disks, err = d.targetDisks(offered.name)
		noError(t, err)
		same(t, len(disks), 0)
		for range 2 {
			noError(t, d.removePortal())
		}
		lived(d, at)
	})
}

// TestServiceLifecycle starts and stops a service, and leaves it as it found it.
func TestServiceLifecycle(t *testing.T) {
	eachVersion(t, "system", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		got, err := ask[string](d, "GetBIOSSerialNumber", nil, serial)
		noError(t, err)
		same(t, got, n.biosSerial(t))

		name := n.service(t)
		is := func(want uint32) {
			t.Helper()
			s, err := d.service(name)
			noError(t, err)
			same(t, s.State, want)
		}
		before, err := d.service(name)
		noError(t, err)
		for range 2 {
			noError(t, d.startService(name))
		}
		is(win32.SERVICE_RUNNING)
		for range 2 {
			noError(t, d.stopService(name, false))
		}
		is(win32.SERVICE_STOPPED)
		if before.State == win32.SERVICE_RUNNING {
			noError(t, d.startService(name))
		}
		lived(d, at)
	})
}
