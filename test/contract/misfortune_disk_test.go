// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// The steps of a stage at which the node can be interrupted.
func steps() []csiproxytest.Calls {
	return []csiproxytest.Calls{
		{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_CREATE_DISK", Times: 1},
		{Function: "FormatVolume", Times: 1},
		{Function: "SetVolumeMountPoint", Times: 1},
	}
}

func stepName(c csiproxytest.Calls) string { return c.Function + c.ControlCode }

// The disk is pulled while the agent works on it: the call fails, and it does not hang. When the disk is back, the next
// try succeeds.
func TestSurpriseRemovalInMidCall(t *testing.T) {
	for _, step := range steps() {
		t.Run(stepName(step), func(t *testing.T) {
			node, d, number := startStager(t)
			reached, release := node.Hang(step)
			staging := background(func() error { return d.stage(t.Context()) })
			await(t, reached, staging)
			image := node.DetachDisk(number)
			release()
			if err := <-staging; err == nil {
				t.Error("staging a disk that was pulled succeeded")
			}
			wantOutcome(t, "while it is away", d.stage(t.Context()), codes.NotFound)
			node.AttachDisk(csiproxytest.Disk{ImagePath: image, SerialNumber: serial})
			wantStaged(t, node, d, "")
		})
	}
}

// A staged volume loses its disk. After it is back under another number the volume is the same.
func TestSurpriseRemovalOfStagedVolume(t *testing.T) {
	node, d, number := startStager(t)
	wantStaged(t, node, d, "")
	image := node.DetachDisk(number)
	_, err := d.expand(t.Context())
	if err == nil {
		t.Error("expanding a volume without a disk succeeded")
	}
	node.AttachDisk(csiproxytest.Disk{SizeBytes: gib, SerialNumber: "another"})
	if again := node.AttachDisk(csiproxytest.Disk{ImagePath: image, SerialNumber: serial}); again == number {
		t.Fatal("the disk has its old number")
	}
	wantStaged(t, node, d, "new")
}

// Slow kernel calls make a call slow, and nothing else.
func TestSlowKernelCall(t *testing.T) {
	for _, step := range steps() {
		t.Run(stepName(step), func(t *testing.T) {
			const least = 20 * time.Millisecond
			node, d, _ := startStager(t)
			node.Delay(step, least, least)
			wantStaged(t, node, d, "")
			slow := node.Find(csiproxytest.Query{Function: step.Function, Method: "*"})
			found := false
			for _, e := range slow {
				found = found || e.GetDuration().AsDuration() >= least && e.GetKernel().GetError() == ""
			}
			if !found {
				t.Errorf("the journal has no slow %s", step.Function)
			}
		})
	}
}

// A kernel call hangs. The driver gives up; its next try joins the call that still runs, and neither begins it a
// second time nor fails.
func TestHangingKernelCall(t *testing.T) {
	for _, step := range steps() {
		t.Run(stepName(step), func(t *testing.T) {
			node, d, _ := startStager(t)
			reached, release := node.Hang(step)
			impatient, giveUp := context.WithCancel(t.Context())
			first := background(func() error { return d.stage(impatient) })
			await(t, reached, first)
			giveUp()
			wantOutcome(t, "the cancelled call", <-first, codes.Canceled)
			again := background(func() error { return d.stage(t.Context()) })
			release()
			if err := <-again; err != nil {
				t.Errorf("the next try: %v", err)
			}
			wantStaged(t, node, d, "")
			if n := len(node.Find(csiproxytest.Query{Function: step.Function})); step.Function == "FormatVolume" && n != 1 {
				t.Errorf("%s was called %d times", step.Function, n)
			}
		})
	}
}

// The cloud grows the disk; the driver uses the added space, also when a kernel call failed on the way.
func TestGrowth(t *testing.T) {
	for _, code := range []string{"", "IOCTL_DISK_GROW_PARTITION", "FSCTL_EXTEND_VOLUME"} {
		t.Run(code, func(t *testing.T) {
			node, d, number := startStager(t)
			wantStaged(t, node, d, "")
			before, err := d.expand(t.Context())
			if err != nil {
				t.Fatalf("nothing to do: %v", err)
			}
			node.GrowDisk(number, 3*gib)
			if code != "" {
				node.Fail(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: code, Times: 1}, "ERROR_NOT_READY")
				if _, err := d.expand(t.Context()); err == nil {
					t.Error("the failure was not noticed")
				}
			}
			after, err := d.expand(t.Context())
			if err != nil || after < before+2*gib {
				t.Errorf("got %d after %d bytes, %v", after, before, err)
			}
			wantStaged(t, node, d, "new")
		})
	}
}

// The node reboots while the driver works. Staged volumes stay staged, and the next try does the interrupted work.
func TestReboot(t *testing.T) {
	for _, step := range steps() {
		t.Run(stepName(step), func(t *testing.T) {
			node, d, _ := startStager(t)
			reached, _ := node.Hang(step)
			staging := background(func() error { return d.stage(t.Context()) })
			await(t, reached, staging)
			node.Reboot()
			wantOutcome(t, "the call that the reboot cut off", <-staging, codes.Unavailable)
			d = newStager(t, node) // starts again with the node
			wantStaged(t, node, d, "")
			node.Reboot()
			d = newStager(t, node)
			if got := node.ReadFile(stagePath + `\data`); got != "new" {
				t.Errorf("after a reboot the volume holds %q", got)
			}
			wantStaged(t, node, d, "new")
		})
	}
}

// Whatever Windows does where its documentation is silent, the driver's volume is made.
func TestSwitches(t *testing.T) {
	for name, answer := range map[string]string{"msr": "delayed", "attributesVersion": "16", "zeroedDiskIsMBR": "true",
		"createDiskClears": "true"} {
		t.Run(name, func(t *testing.T) {
			node, d, _ := startStager(t)
			node.SetSwitch(name, answer)
			if got := node.Switches()[name]; got != answer {
				t.Errorf("the answer is %q", got)
			}
			wantStaged(t, node, d, "")
		})
	}
}

// A disk with data is mounted as it is and not formatted.
func TestFormattedDisk(t *testing.T) {
	node, d, number := startStager(t)
	node.DetachDisk(number)
	node.AttachDisk(csiproxytest.Disk{SizeBytes: gib, SerialNumber: serial, Formatted: true})
	wantStaged(t, node, d, "")
	if calls := node.Find(csiproxytest.Query{Function: "FormatVolume"}); len(calls) != 0 {
		t.Errorf("got %v", calls)
	}
}

// A disk that became read-only refuses to be expanded, and is expanded once it is writable.
func TestReadOnlyDisk(t *testing.T) {
	node, d, number := startStager(t)
	wantStaged(t, node, d, "")
	node.GrowDisk(number, 2*gib)
	node.SetDiskReadOnly(number, true)
	if size, err := d.expand(t.Context()); err == nil {
		t.Errorf("a read-only volume has %d bytes now", size)
	}
	node.SetDiskReadOnly(number, false)
	if size, err := d.expand(t.Context()); err != nil || size < 2*gib-64<<20 {
		t.Errorf("got %d, %v", size, err)
	}
}
