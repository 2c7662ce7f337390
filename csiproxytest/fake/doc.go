// SPDX-License-Identifier: Apache-2.0

// Package fake is a CSI Proxy for unit tests: a [csiproxy.Client] without an agent, as mount-utils' FakeMounter is a
// mounter without mounts. It knows a few disks, directories, links and mounts, records the calls, and fails where a
// test wants it to. One suite runs on it and on the emulated node, which is the place for everything finer, and for the
// steps of module mounter: package csiproxytest.
//
//	func TestStageFormatsTheDisk(t *testing.T) {
//		node := fake.New(fake.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1"})
//		driver := newDriver(node.Client())
//		if err := driver.stage(t.Context(), "vol-1", `C:\var\lib\kubelet\plugins\a`); err != nil {
//			t.Fatal(err)
//		}
//		if !slices.Contains(node.Calls(), "FormatVolume") {
//			t.Errorf("the calls are %v", node.Calls())
//		}
//	}
//
//	func TestStageReportsAFullServer(t *testing.T) {
//		node := fake.New(fake.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1"})
//		node.Fail("MountVolume", codes.Unavailable, reason.NotAnswering)
//		if err := newDriver(node.Client()).stage(t.Context(), "vol-1", `C:\var\lib\kubelet\plugins\a`); err == nil {
//			t.Error("got no error")
//		}
//	}
package fake
