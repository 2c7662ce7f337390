// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestBlankReads: StageDisk reads a disk, and then its volume, to see that each is blank. The regions are those of the
// file: what is read no more, or elsewhere, is data that formatting may overwrite.
func TestBlankReads(t *testing.T) {
	k, err := emulated.Open(t.TempDir(), emulated.Options{})
	caller.OK(t, err)
	defer func() { _ = k.Close() }()
	type region struct {
		device   string
		from, to int64
	}
	var regions []region
	n, err := node.New(k, node.Config{WorkingDirs: []string{node.KubeletDir},
		Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
			if call.Function == "ReadAt" {
				device := "disk"
				if strings.Contains(call.Object, "Volume{") {
					device = "volume"
				}
				offset := call.Parameters[1].(int64)
				one := region{device, offset, offset + int64(call.Parameters[0].(int))}
				if last := len(regions) - 1; last >= 0 && regions[last].device == device && regions[last].to == offset {
					one.from, regions = regions[last].from, regions[:last] // read in several pieces
				}
				regions = append(regions, one)
			}
			return do()
		}})
	caller.OK(t, err)
	_, err = k.AttachDisk(bundle.Spec{SizeBytes: 10 << 30, SerialNumber: "blank", LUNAuto: true})
	caller.OK(t, err)
	_, err = n.For(operation.Everything()).Steps.StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: staging,
		Disk: &nodesteps.StageDiskRequest_SerialNumber{SerialNumber: "blank"}})
	caller.OK(t, err)
	var got strings.Builder
	for _, r := range regions {
		fmt.Fprintf(&got, "%s at %d: %d bytes\n", r.device, r.from, r.to-r.from)
	}
	file := filepath.Join("testdata", "blank-reads.txt")
	if *updateKernelCalls {
		caller.OK(t, os.WriteFile(file, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	caller.OK(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("other regions are read (-want +got); if that is meant, run this test with -update:\n%s", diff)
	}
}
