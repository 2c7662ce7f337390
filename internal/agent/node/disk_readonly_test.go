// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
)

// TestProtectedDisk: a disk that the device itself protects is read-only, although its attributes do not show it.
func TestProtectedDisk(t *testing.T) {
	k := emulate(t, emulated.Options{})
	n := bare(t, k)
	id := newVolume(t, n)
	image, err := k.DetachDisk(1)
	must(t, err)
	if _, err := k.AttachDisk(bundle.Spec{ImagePath: image, Protected: true}); err != nil {
		t.Fatal(err)
	}
	if readOnly, err := n.Disks.GetDiskReadOnly(t.Context(), 1); err != nil || !readOnly {
		t.Errorf("read-only: %t, %v", readOnly, err)
	}
	if disks, err := n.Disks.Facts(t.Context(), false); err != nil || !disks.All[1].GetReadOnly() ||
		disks.All[0].GetReadOnly() {
		t.Errorf("the facts have %+v, %v", disks, err)
	}
	for what, err := range map[string]error{
		"formatting":      by(t.Context(), n).FormatVolume(id),
		"making writable": n.Disks.SetDiskReadOnly(t.Context(), 1, false),
	} {
		if !errdefs.HasReason(err, reason.DiskReadOnly) || !strings.Contains(err.Error(), "write-protected") {
			t.Errorf("%s: %v, want %s by the device", what, err, reason.DiskReadOnly)
		}
	}
}

// TestMountedDiskBecomesWritable: Windows may take the volume from the pods that use it, so the log tells it.
func TestMountedDiskBecomesWritable(t *testing.T) {
	k := emulate(t, emulated.Options{})
	n := bare(t, k)
	id := newVolume(t, n)
	var log bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	const line = "becomes writable while its volume is mounted"
	for _, lines := range []int{0, 1} {
		err := errors.Join(k.SetDiskReadOnly(1, true), by(ctx, n).SetDiskState(1, true))
		if got := strings.Count(log.String(), line); err != nil || got != lines {
			t.Errorf("the log has %d such lines, want %d; %v:\n%s", got, lines, err, &log)
		}
		if err := errors.Join(by(ctx, n).FormatVolume(id),
			by(ctx, n).MountVolume(id, KubeletDir+`\mount`)); err != nil {
			t.Fatal(err)
		}
	}
}
