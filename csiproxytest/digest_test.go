// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

func TestDiskDigest(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: small})
	blank, other := n.DiskDigest(1), n.DiskDigest(2)
	if blank != other {
		t.Error("two blank disks differ, though only their sizes do")
	}
	partition := func() {
		t.Helper()
		if err := by(t, n).PartitionDisk(1); err != nil {
			t.Fatal(err)
		}
	}
	partition()
	partitioned := n.DiskDigest(1)
	if partitioned == blank {
		t.Error("partitioning does not show")
	}
	partition() // a second time does nothing
	if n.DiskDigest(1) != partitioned || n.DiskDigest(2) != other {
		t.Error("the digest of an unchanged disk changed")
	}
	n.Reboot()
	n.Reconnect()
	partition()
	if got := csiproxytest.Digest(t, n.DetachDisk(1)); got != partitioned {
		t.Errorf("the detached disk has the digest %s, want %s", got, partitioned)
	}
}
