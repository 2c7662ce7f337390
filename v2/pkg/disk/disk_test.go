// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// fake is a driver's own machine for its tests, with one disk.
type fake struct {
	older
	calls                    []string
	initialized, partitioned bool
	broken                   string // the call that fails
}

var errBroken = errors.New("broken")

func (f *fake) called(name string, args ...any) error {
	f.calls = append(f.calls, fmt.Sprint(append([]any{name}, args...)...))
	if name == f.broken {
		return errBroken
	}
	return nil
}

func (f *fake) IsDiskInitialized(n uint32) (bool, error) {
	return f.initialized, f.called("IsDiskInitialized", n)
}

func (f *fake) InitializeDisk(n uint32) error { return f.called("InitializeDisk", n) }

func (f *fake) BasicPartitionsExist(n uint32) (bool, error) {
	return f.partitioned, f.called("BasicPartitionsExist", n)
}

func (f *fake) CreateBasicPartition(n uint32) error { return f.called("CreateBasicPartition", n) }

func (f *fake) GetDiskStats(n uint32) (int64, error) { return 4096, f.called("GetDiskStats", n) }

// newer is a machine with calls that no release has.
type newer struct{ fake }

func (n *newer) SetDiskReadOnly(number uint32, readOnly bool) error {
	return n.called("SetDiskReadOnly", number, " ", readOnly)
}

func (n *newer) GetDiskReadOnly(number uint32) (bool, error) {
	return true, n.called("GetDiskReadOnly", number)
}

// TestReadOnly: both calls reach a HostAPI that has them. Those that were written for a release lack them.
func TestReadOnly(t *testing.T) {
	host := &newer{}
	d := newDisk(t, host)
	if _, err := d.SetDiskReadOnly(t.Context(),
		&disk.SetDiskReadOnlyRequest{DiskNumber: 7, IsReadOnly: true}); err != nil {
		t.Error(err)
	}
	if r, err := d.GetDiskReadOnly(t.Context(), &disk.GetDiskReadOnlyRequest{DiskNumber: 7}); err != nil || !r.IsReadOnly {
		t.Errorf("got %+v, %v", r, err)
	}
	if diff := cmp.Diff(host.calls, []string{"SetDiskReadOnly7 true", "GetDiskReadOnly7"}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
	d = newDisk(t, &fake{})
	if r, err := d.SetDiskReadOnly(t.Context(), &disk.SetDiskReadOnlyRequest{}); r == nil ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, %v, want ErrUnsupported", r, err)
	}
	if r, err := d.GetDiskReadOnly(t.Context(), &disk.GetDiskReadOnlyRequest{}); r == nil ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, %v, want ErrUnsupported", r, err)
	}
}

// older is the method set of a HostAPI of v2.0.0-alpha.1.
type older interface {
	ListDiskLocations() (map[uint32]hostapi.DiskLocation, error)
	IsDiskInitialized(diskNumber uint32) (bool, error)
	InitializeDisk(diskNumber uint32) error
	BasicPartitionsExist(diskNumber uint32) (bool, error)
	CreateBasicPartition(diskNumber uint32) error
	Rescan() error
	ListDiskIDs() (map[uint32]hostapi.DiskIDs, error)
	GetDiskStats(diskNumber uint32) (int64, error)
	SetDiskState(diskNumber uint32, isOnline bool) error
	GetDiskState(diskNumber uint32) (bool, error)
}

func newDisk(t *testing.T, host older) *disk.Disk {
	t.Helper()
	d, err := disk.New(host)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPartitionDiskDoesWhatIsLeftToDo(t *testing.T) {
	for _, c := range []struct {
		name string
		fake fake
		want []string
		err  error
	}{
		{"raw", fake{}, []string{"IsDiskInitialized7", "InitializeDisk7", "BasicPartitionsExist7", "CreateBasicPartition7"},
			nil},
		{"interrupted", fake{initialized: true}, []string{"IsDiskInitialized7", "BasicPartitionsExist7",
			"CreateBasicPartition7"}, nil},
		{"done", fake{initialized: true, partitioned: true}, []string{"IsDiskInitialized7", "BasicPartitionsExist7"}, nil},
		{"not known", fake{broken: "IsDiskInitialized"}, []string{"IsDiskInitialized7"}, errBroken},
		{"not initialized", fake{broken: "InitializeDisk"}, []string{"IsDiskInitialized7", "InitializeDisk7"}, errBroken},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newDisk(t, &c.fake).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 7})
			if !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.fake.calls, c.want); diff != "" {
				t.Errorf("calls (-got +want):\n%s", diff)
			}
		})
	}
}

// TestFakeOverOurs: a HostAPI that embeds ours and replaces one method counts as the driver's, and is called step by
// step.
func TestFakeOverOurs(t *testing.T) {
	f := &overridden{}
	_, err := newDisk(t, f).PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: 7})
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the error of the driver's method", err)
	}
}

type overridden struct{ hostapi.DiskAPI }

func (*overridden) IsDiskInitialized(uint32) (bool, error) { return false, errBroken }

// TestResponseOfAFailure: two drivers read the size before they look at the error.
func TestResponseOfAFailure(t *testing.T) {
	f := &fake{broken: "GetDiskStats"}
	if r, err := newDisk(t, f).GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{}); r == nil ||
		!errors.Is(err, errBroken) {
		t.Errorf("got %v, %v, want a response and an error", r, err)
	}
}
