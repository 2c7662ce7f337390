// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// A mounted volume grows while a workload writes to it, and keeps everything that was written.
func TestGrowingUnderAWorkload(t *testing.T) {
	const steps, step = 12, 32 << 20
	n := testnode.Start(t, testnode.Options{})
	number, id := dataInUse(t, n, dataStaging)
	path := n.HostPath(dataStaging + `\log`)
	writing := make(chan error, 1)
	stop := make(chan struct{})
	lines := 0
	go func() {
		f, err := os.Create(path)
		for ; err == nil; lines++ {
			select {
			case <-stop:
				writing <- f.Close()
				return
			default:
				_, err = fmt.Fprintf(f, "line %d\n", lines)
			}
		}
		writing <- err
	}()
	for i := range int64(steps) {
		noError(t, n.Emulated.GrowDisk(number, dataDiskBytes+(i+1)*step))
		noError(t, resizeVolume(t, n, id, 0))
		stats, err := n.Volume.GetVolumeStats(t.Context(), &volumeapi.GetVolumeStatsRequest{VolumeId: id})
		noError(t, err)
		if want := i*step + dataDiskBytes; stats.GetTotalBytes() < want {
			t.Errorf("after step %d the volume has %d bytes, want more than %d", i, stats.GetTotalBytes(), want)
		}
	}
	close(stop)
	noError(t, <-writing)
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if got := n.ReadFile(dataStaging + `\log`); got != want.String() {
		t.Errorf("of %d lines (%d bytes) %d bytes are there", lines, want.Len(), len(got))
	}
	wantData(t, n, "after growing", id)
}

// Between two calls of a driver its disk goes, and another one appears under its number. The driver's knowledge of the
// old one must not harm the new one.
func TestDiskNumberMeansAnotherDisk(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	number, id := dataInUse(t, n, dataStaging)
	_, err := n.Emulated.DetachDisk(number)
	noError(t, err)
	again := attachDisk(t, n, emulated.DiskSpec{Formatted: true, SerialNumber: "another"})
	if again != number {
		t.Fatalf("the other disk is %d, want %d", again, number)
	}
	noError(t, n.Emulated.GrowDisk(number, 2*dataDiskBytes))
	another := volumes(t, n, number)[0]
	before := n.DiskDigest(number)

	for name, call := range map[string]struct {
		err  error
		want codes.Code
	}{
		"FormatVolume":  {formatVolume(t, n, id), codes.NotFound},
		"ResizeVolume":  {resizeVolume(t, n, id, 0), codes.NotFound},
		"MountVolume":   {mount(t, n, id, parent+`\new`), codes.NotFound},
		"PartitionDisk": {partitionDisk(t, n, number), codes.OK}, // it has a partition, so nothing is done
	} {
		wantCode(t, name, call.err, call.want)
	}
	_, err = n.Volume.GetDiskNumberFromVolumeID(t.Context(), &volumeapi.GetDiskNumberFromVolumeIDRequest{VolumeId: id})
	wantCode(t, "GetDiskNumberFromVolumeID", err, codes.NotFound)
	wantCode(t, "UnmountVolume of the other volume where the old one was mounted",
		unmountVolume(t, n, another, dataStaging), codes.FailedPrecondition)
	wantCode(t, "UnmountVolume of the old one", unmountVolume(t, n, id, dataStaging), codes.OK)
	if n.DiskDigest(number) != before {
		t.Error("bytes of the other disk changed")
	}
}

// Removing a directory removes the mount points below it and leaves the content of their volumes.
func TestRemovalStopsAtMountPoints(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	_, first := dataInUse(t, n, parent+`\one\mount`)
	_, second := dataInUse(t, n, parent+`\two\deeper\mount`)
	noError(t, removeDirectory(t, n, parent))
	wantData(t, n, "the first volume", first)
	wantData(t, n, "the second volume", second)
}
