// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// fake is a driver's own machine for its tests.
type fake struct {
	calls []string
	err   error
}

func (f *fake) called(args ...any) error {
	f.calls = append(f.calls, fmt.Sprintf("%v", args))
	return f.err
}

func (f *fake) ListVolumesOnDisk(disk uint32, partition uint32) ([]string, error) {
	return []string{"v"}, f.called("list", disk, partition)
}
func (f *fake) MountVolume(id, path string) error                   { return f.called("mount", id, path) }
func (f *fake) UnmountVolume(id, path string) error                 { return f.called("unmount", id, path) }
func (f *fake) IsVolumeFormatted(id string) (bool, error)           { return true, f.called("formatted", id) }
func (f *fake) FormatVolume(id string) error                        { return f.called("format", id) }
func (f *fake) ResizeVolume(id string, size int64) error            { return f.called("resize", id, size) }
func (f *fake) GetVolumeStats(id string) (int64, int64, error)      { return 100, 40, f.called("stats", id) }
func (f *fake) GetDiskNumberFromVolumeID(id string) (uint32, error) { return 7, f.called("disk", id) }
func (f *fake) GetVolumeIDFromTargetPath(path string) (string, error) {
	return "v", f.called("mounted", path)
}
func (f *fake) WriteVolumeCache(id string) error { return f.called("flush", id) }
func (f *fake) GetClosestVolumeIDFromTargetPath(path string) (string, error) {
	return "w", f.called("closest", path)
}

// TestFakeIsCalled: the driver's HostAPI receives the driver's calls, and its answers arrive.
func TestFakeIsCalled(t *testing.T) {
	f := &fake{}
	v, err := volume.New(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, call := range calls(t, v) {
		response, err := call()
		if err != nil {
			t.Error(err)
		}
		got = append(got, response)
	}
	if diff := cmp.Diff(got, []any{
		&volume.ListVolumesOnDiskResponse{VolumeIDs: []string{"v"}},
		&volume.MountVolumeResponse{}, &volume.UnmountVolumeResponse{},
		&volume.IsVolumeFormattedResponse{Formatted: true}, &volume.FormatVolumeResponse{}, &volume.ResizeVolumeResponse{},
		&volume.GetVolumeStatsResponse{TotalBytes: 100, UsedBytes: 40},
		&volume.GetDiskNumberFromVolumeIDResponse{DiskNumber: 7},
		&volume.GetVolumeIDFromTargetPathResponse{VolumeID: "v"}, &volume.WriteVolumeCacheResponse{},
		&volume.GetClosestVolumeIDFromTargetPathResponse{VolumeID: "w"},
	}); diff != "" {
		t.Errorf("answers (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(f.calls, []string{
		"[list 7 2]", `[mount v C:\a]`, `[unmount v C:\a]`, "[formatted v]", "[format v]", "[resize v 99]", "[stats v]",
		"[disk v]", `[mounted C:\a]`, "[flush v]", `[closest C:\a]`,
	}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// TestFailure: the error of the driver's HostAPI arrives unchanged, with an answer, because some drivers read that
// first.
func TestFailure(t *testing.T) {
	f := &fake{err: errors.New("broken")}
	v, err := volume.New(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range calls(t, v) {
		if response, err := call(); !errors.Is(err, f.err) || reflect.ValueOf(response).IsNil() {
			t.Errorf("call %d: %v, %v, want a response and %v", i, response, err, f.err)
		}
	}
}

// calls holds a call to each method.
func calls(t *testing.T, v *volume.Volume) []func() (any, error) {
	t.Helper()
	ctx := t.Context()
	return []func() (any, error){
		func() (any, error) {
			return v.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: 7, PartitionNumber: 2})
		},
		func() (any, error) {
			return v.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: "v", TargetPath: `C:\a`})
		},
		func() (any, error) {
			return v.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: "v", TargetPath: `C:\a`})
		},
		func() (any, error) {
			return v.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: "v"})
		},
		func() (any, error) { return v.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: "v"}) },
		func() (any, error) {
			return v.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: "v", SizeBytes: 99})
		},
		func() (any, error) { return v.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: "v"}) },
		func() (any, error) {
			return v.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: "v"})
		},
		func() (any, error) {
			return v.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: `C:\a`})
		},
		func() (any, error) { return v.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: "v"}) },
		func() (any, error) {
			return v.GetClosestVolumeIDFromTargetPath(ctx, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: `C:\a`})
		},
	}
}

func TestVolumeRegexp(t *testing.T) {
	const id = `\\?\Volume{403364da-4023-43f3-9091-bd46b07bdf16}\`
	if got, want := hostapi.VolumeRegexp.FindString(id), "Volume{403364da-4023-43f3-9091-bd46b07bdf16}"; got != want {
		t.Errorf("in %s VolumeRegexp finds %q, want %q", id, got, want)
	}
}

func TestNewNeedsAHostAPI(t *testing.T) {
	if _, err := volume.New(nil); err == nil {
		t.Error("volume.New(nil) succeeds")
	}
}
