// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	kernel "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// onWindows is the machine that the tests run on, with the test's own agent.
type onWindows struct {
	t     testing.TB
	mu    sync.Mutex
	disks map[uint32]*machine.VirtualDisk // by number
}

// windowsSite has an agent on the machine's own pipes, so there can be only one at a time; see testnode.OnMachine.
func windowsSite(t testing.TB) site {
	t.Helper()
	// below which all paths of the lives are
	for _, dir := range []string{pods + `\1`, kubelet + `\plugins\kubernetes.io\csi\driver\1`} {
		noError(t, machine.MakeDirectory(t, dir))
	}
	testnode.OnMachine(t)
	return &onWindows{t: t, disks: map[uint32]*machine.VirtualDisk{}}
}

// inProcess returns the way past the pipes, if the agent runs in this process.
func (*onWindows) inProcess() grpc.ClientConnInterface { return testnode.InProcess() }

// endpoint returns a pipe of the tests' agent, and ends the test if another one serves it.
func (s *onWindows) endpoint(group, version string) string {
	pipe := `\\.\pipe\csi-proxy-` + group + "-" + version
	noError(s.t, testnode.NoOther(s.t, pipe))
	return pipe
}

func (*onWindows) admin(t testing.TB) *adminclient.Client {
	t.Helper()
	noError(t, testnode.NoOther(t, `\\.\pipe\csiproxy-admin`))
	c, err := adminclient.Dial(t.Context(), "")
	noError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (*onWindows) emulated() *testnode.Node { return nil }

// hostPath returns the path itself.
func (*onWindows) hostPath(windowsPath string) (string, error) {
	return filepath.Clean(windowsPath), nil
}

// disk returns a new VHDX.
func (s *onWindows) disk(t testing.TB) offeredDisk {
	t.Helper()
	const size = 20 * gib
	d, err := machine.AttachVirtualDisk(t, size, 512)
	noError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disks[d.Number()] = d
	return offeredDisk{number: d.Number(), size: size}
}

// grow returns when the disk's volume, which may have gone meanwhile, is there again.
func (s *onWindows) grow(t testing.TB, number uint32, size int64) uint32 {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.disks[number]
	_, err := d.Grow(size)
	noError(t, err)
	delete(s.disks, number)
	s.disks[d.Number()] = d
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		there, err := hasVolume(d.Number())
		noError(t, err)
		if there {
			return d.Number()
		}
		select {
		case <-again.C:
		case <-late.C:
			t.Fatalf("disk %d has no volume after growing", d.Number())
		}
	}
}

// hasVolume reports whether a volume of the machine lies on a disk.
func hasVolume(number uint32) (bool, error) {
	k := kernel.New()
	names, err := k.VolumeNames()
	if err != nil {
		return false, err
	}
	for _, name := range names {
		h, err := k.OpenDevice(name[:len(name)-1], 0)
		if err != nil {
			continue // a volume that came or went
		}
		out := make([]byte, 8+8*24)
		n, err := h.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out)
		_ = h.Close()
		if err != nil {
			continue // a volume without disks, such as that of a CD
		}
		extents, err := win32.ParseVolumeDiskExtents(out[:n])
		if err != nil {
			return false, err
		}
		for _, e := range extents {
			if e.DiskNumber == number {
				return true, nil
			}
		}
	}
	return false, nil
}

func (*onWindows) share(t testing.TB) offeredShare {
	t.Helper()
	s, err := machine.NewShare(t, machine.ShareOptions{})
	if missing := windows.Unavailable(""); errors.As(err, &missing) {
		t.Skip(missing)
	}
	noError(t, err)
	return offeredShare{s.Remote, s.User, s.Password}
}

func (*onWindows) target(t testing.TB) offeredTarget {
	t.Helper()
	made, err := windows.NewTarget(t)
	if missing := windows.Unavailable(""); errors.As(err, &missing) {
		t.Skip(missing)
	}
	noError(t, err)
	return offeredTarget{address{made.Address, made.Port}, made.IQN, made.User, made.Secret}
}

// service returns a service of the test's own.
func (*onWindows) service(t testing.TB) string {
	t.Helper()
	name, _, err := windows.NewServices(t)
	noError(t, err)
	return name
}

func (*onWindows) maySetSecret() error { return windows.MaySetCHAP() }

func (*onWindows) biosSerial(t testing.TB) string {
	t.Helper()
	serial, err := windows.BIOSSerial()
	noError(t, err)
	return serial
}
