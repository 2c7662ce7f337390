// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// start opens an emulated node in process.
func start(t *testing.T, o Options) *Node {
	t.Helper()
	k, err := emulated.Open(t.TempDir(), emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	n, err := open(k, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestCalls: a call works, and the caller's messages stay its own.
func TestCalls(t *testing.T) {
	n := start(t, Options{})
	ids, err := calls.By(t.Context(), n.Client).ListDiskIDs()
	if err != nil || len(ids) != 3 {
		t.Fatalf("ListDiskIDs = %v, %v, want the three disks of the default scenario", ids, err)
	}
	request := &smbapi.NewSmbGlobalMappingRequest{RemotePath: `\\fs.emulated\share`, Username: "csi",
		Password: "csi-password"}
	if _, err := n.Client().SMB.NewSmbGlobalMapping(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if request.GetPassword() != "csi-password" {
		t.Errorf("the caller's password became %q", request.GetPassword())
	}
}

// TestSamePolicy: a request that an agent refuses is refused in process, with the same code, reason and text.
func TestSamePolicy(t *testing.T) {
	c := calls.By(t.Context(), start(t, Options{WorkingDirs: []string{`C:\Windows\System32`}}).Client)
	err := c.Mkdir(`C:\Windows\x`)
	if !errors.Is(err, csiproxy.ErrOutsideWorkingDirs) || status.Code(err) != codes.InvalidArgument {
		t.Errorf("Mkdir in C:\\Windows: %v, want ErrOutsideWorkingDirs and InvalidArgument", err)
	}
	for _, dir := range []string{`C:\Windows\System32\x`, `C:\var\lib\kubelet\x`} {
		if err := c.Mkdir(dir); err != nil {
			t.Errorf("Mkdir(%s): %v", dir, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Within(ended).Rescan(); status.Code(err) != codes.Canceled {
		t.Errorf("a cancelled call: %v, want Canceled", err)
	}
}

// TestAudit: a failed call leaves a line that names the caller, and no secret.
func TestAudit(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	c := calls.By(t.Context(), start(t, Options{Logger: logger}).Client)
	err := c.NewSmbGlobalMapping(`\\fs.emulated\share`, "", calls.User, "hunter2")
	if !errors.Is(err, csiproxy.ErrCredentials) {
		t.Fatalf("a wrong password: %v", err)
	}
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the logger keeps nothing")
	}
	log := underlier.GetBuffer().String()
	for _, want := range []string{"NewSmbGlobalMapping", "in process", "Unauthenticated"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q: %s", want, log)
		}
	}
	if strings.Contains(log, "hunter2") {
		t.Errorf("the log has the password: %s", log)
	}
}

// TestEraseOnFormat: the option lets FormatVolume erase files.
func TestEraseOnFormat(t *testing.T) {
	const mount = `C:\var\lib\kubelet\mount`
	for _, erase := range []bool{false, true} {
		c := calls.By(t.Context(), start(t, Options{EraseOnFormat: erase}).Client)
		err := c.PartitionDisk(1)
		volumes, listErr := c.ListVolumesOnDisk(1)
		if err := errors.Join(err, listErr); err != nil {
			t.Fatal(err)
		}
		id := volumes[0]
		if err := errors.Join(c.FormatVolume(id), c.MountVolume(id, mount), c.Mkdir(mount+`\data`)); err != nil {
			t.Fatal(err)
		}
		if err := c.FormatVolume(id); (err == nil) != erase || !erase && !errors.Is(err, csiproxy.ErrVolumeNotEmpty) {
			t.Errorf("erase=%t: FormatVolume = %v", erase, err)
		}
	}
}

// TestOpenOffWindows: the error says where the library works.
func TestOpenOffWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this is Windows")
	}
	if _, err := Open(Options{Logger: klog.Background()}); err == nil || !strings.Contains(err.Error(), "csiproxytest") {
		t.Errorf("Open = %v, want an error that says what to use instead", err)
	}
}
