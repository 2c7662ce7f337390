// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The lives of shares, targets, services and steps, with each version that can live them.

// TestShareLifecycle maps a share as kubelet's SMB drivers do.
func TestShareLifecycle(t *testing.T) {
	eachVersion(t, "smb", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		s := n.share(t)
		caller.OK(t, d.mkdir(pods+`\1`)) // on a machine, only what is below it is removed
		link := pods + `\1\share-` + at.version
		d.fails("a wrong password", codes.Unauthenticated, "NewSmbGlobalMapping",
			values{remote: s.remote, local: "", user: s.user, password: s.password + "x"})
		for range 2 {
			d.must("NewSmbGlobalMapping", values{remote: s.remote, local: link, user: s.user, password: s.password})
		}
		d.write(link+`\file`, "shared")
		same(t, d.read(link+`\file`), "shared")
		caller.OK(t, d.rmdir(link, true))
		for range 2 {
			d.must("RemoveSmbGlobalMapping", values{remote: s.remote})
		}
		lived(d, at)
	})
}

// TestTargetLifecycle logs in to a target and out again.
func TestTargetLifecycle(t *testing.T) {
	eachVersion(t, "iscsi", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		offered := n.target(t)
		storage, to := values{portal: offered.portal}, values{portal: offered.portal, target: offered.name}
		d.must("StartService", values{serviceName: "MSiSCSI"})
		for range 2 {
			d.must("AddTargetPortal", storage)
		}
		if known, want := d.portals(), (address{offered.portal.Name, 3260}); !slices.Contains(known, want) {
			t.Errorf("the portals are %v, without %v", known, want)
		}
		if found := d.texts("DiscoverTargetPortal", storage, targets); !slices.Contains(found, offered.name) {
			t.Errorf("found the targets %q, not %q", found, offered.name)
		}
		d.fails("a login without CHAP", codes.Unauthenticated, "ConnectTarget", to)
		for range 2 {
			d.must("ConnectTarget", values{portal: offered.portal, target: offered.name, auth: uint32(1),
				chapUser: offered.chapUser, chapSecret: offered.chapKey})
		}
		disks := d.texts("GetTargetDisks", to, ids)
		if len(disks) != 1 {
			t.Fatalf("the target's disks are %q", disks)
		}
		if size := d.diskSize(diskNumber(t, disks[0])); size < gib {
			t.Errorf("the target's disk has %d bytes", size)
		}
		if d.lookUp("SetMutualChapSecret") != nil && n.maySetSecret() == nil {
			caller.OK(t, d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}))
		}
		for range 2 {
			d.must("DisconnectTarget", to)
		}
		same(t, len(d.texts("GetTargetDisks", to, ids)), 0)
		for range 2 {
			d.must("RemoveTargetPortal", storage)
		}
		lived(d, at)
	})
}

// TestServiceLifecycle starts and stops a service, and leaves it as it found it.
func TestServiceLifecycle(t *testing.T) {
	eachVersion(t, "system", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		same(t, ask[string](d, "GetBIOSSerialNumber", nil, serial), n.biosSerial(t))

		of := values{serviceName: n.service(t)}
		get := func() win32.ServiceState {
			return win32.ServiceState(d.must("GetService", of).get(state).Enum())
		}
		before := get()
		for range 2 {
			d.must("StartService", of)
		}
		same(t, get(), win32.SERVICE_RUNNING)
		for range 2 {
			d.must("StopService", values{serviceName: of[serviceName], force: false})
		}
		same(t, get(), win32.SERVICE_STOPPED)
		if before == win32.SERVICE_RUNNING {
			d.must("StartService", of)
		}
		lived(d, at)
	})
}

// TestStepsLifecycle takes a disk and a share through the steps of a node service.
func TestStepsLifecycle(t *testing.T) {
	eachVersion(t, "nodesteps", func(t *testing.T, n site, all []served, at served) {
		d := newDriver(t, n, all, at)
		offered, s := n.disk(t), n.share(t)
		staging, publish := pods+`\1\staging`, pods+`\1\volumes\mount`
		for range 2 {
			r := d.must("StageDisk", values{disk: offered.number, path: staging})
			same(t, r.get(diskTotal).Int(), offered.size)
			same(t, uint32(r.get(disk).Uint()), offered.number)
			caller.OK(t, d.do("Publish", values{source: staging, path: publish}))
			same(t, d.must("GetVolume", values{path: publish}).get(volume).String(), r.get(volume).String())
		}
		d.write(publish+`\data`, "precious")
		n.grow(t, offered.number, 30*gib)
		r := d.must("Expand", values{path: publish, size: int64(30 * gib)})
		same(t, r.get(diskTotal).Int(), int64(30*gib))
		of := d.must("GetVolume", values{path: staging})
		same(t, of.get(total).Int(), r.get(total).Int())
		same(t, of.get(total).Int(), of.get(used).Int()+of.get(available).Int())
		same(t, d.read(staging+`\data`), "precious")
		caller.OK(t, d.do("StageShare", values{remote: s.remote, path: staging + "-share", user: s.user,
			password: s.password}))
		for range 2 {
			for _, at := range []string{publish, staging, staging + "-share"} {
				caller.OK(t, d.do("Unstage", values{path: at}))
			}
		}
		lived(d, at)
	})
}
