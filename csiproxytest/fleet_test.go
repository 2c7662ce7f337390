// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// stage stages the volume vol-1 as the plugin of the guide does, and returns the volume's id.
func stage(t testing.TB, n *csiproxytest.Node) string {
	t.Helper()
	if err := newPlugin(t, n).Stage(t.Context(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	return n.Mounts()[0].Volume
}

func unstage(t testing.TB, n *csiproxytest.Node) {
	t.Helper()
	if err := newPlugin(t, n).Unstage(t.Context(), staging); err != nil {
		t.Fatal(err)
	}
}

// A pod's volume follows it from node to node, with its files and its id; the cloud attaches it to one of them at a
// time.
func TestVolumeMovesThroughAFleet(t *testing.T) {
	f := csiproxytest.StartFleet(t, 3, csiproxytest.Options{})
	serials := map[string]bool{}
	disk := csiproxytest.Disk{BundlePath: f.Disk("vol-1"), SizeBytes: 1 << 30, SerialNumber: "vol-1", Offline: true}
	var first string
	for i, n := range append(f.Nodes, f.Nodes[0]) { // and back again
		serials[serial(t, n)] = true
		number := n.AttachDisk(disk)
		if got := n.Facts().GetDisks()[number].GetSerialNumber(); got != "vol-1" {
			t.Errorf("it arrives with the serial number %q", got)
		}
		id := stage(t, n)
		if i == 0 {
			first = id
			n.WriteFile(staging+`\data`, "of the pod")
		}
		if got := n.ReadFile(staging + `\data`); got != "of the pod" || id != first {
			t.Errorf("node %d: volume %s, want %s; its file has %q", i, id, first, got)
		}
		unstage(t, n)
		n.DetachDisk(number)
	}
	if len(serials) != 3 {
		t.Errorf("the systems' serial numbers: %v", serials)
	}
}

// A node goes back to what it was; a clone goes its own way.
func TestSnapshots(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: small})
	number := n.AttachDisk(csiproxytest.Disk{SizeBytes: 64 << 20, SerialNumber: "vol-1"})
	id := stage(t, n)
	n.WriteFile(staging+`\data`, "before")
	snapshot := n.Save()
	n.WriteFile(staging+`\data`, "after")
	unstage(t, n)
	n.SetDiskOnline(number, false)
	clone := n.Clone(t, csiproxytest.Options{})
	if again := stage(t, clone); again != id || clone.ReadFile(staging+`\data`) != "after" {
		t.Errorf("the clone has the volume %s with %q", again, clone.ReadFile(staging+`\data`))
	}
	clone.WriteFile(staging+`\data`, "of the clone")
	n.Restore(snapshot)
	if got := n.ReadFile(staging + `\data`); got != "before" { // it is mounted
		t.Errorf("the file has %q", got)
	}
	if serial(t, n) == serial(t, clone) {
		t.Error("two machines have one serial number")
	}
	n.DetachDisk(number)
	n.Restore(snapshot)
	if got := n.ReadFile(staging + `\data`); got != "before" {
		t.Errorf("restored again, the file has %q", got)
	}
}

func serial(t testing.TB, n *csiproxytest.Node) string {
	t.Helper()
	serial, err := by(t, n).GetBIOSSerialNumber()
	if err != nil {
		t.Fatal(err)
	}
	return serial
}
