// SPDX-License-Identifier: Apache-2.0

package published

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	mount "k8s.io/mount-utils"
	mountmanager "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/mount-manager"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/resizefs"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// TestMain answers as Google's metadata service does, which the driver asks first. It finds the service through the
// proxy of the environment, which Go's HTTP client reads once.
func TestMain(m *testing.M) {
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `[{"deviceName":"pvc-2b6b0f4e","index":1,"interface":"SCSI","mode":"READ_WRITE","type":"PERSISTENT"}]`)
	}))
	if err := os.Setenv("HTTP_PROXY", metadata.URL); err != nil {
		panic(err)
	}
	code := m.Run()
	metadata.Close()
	os.Exit(code)
}

// driverMounter is the common part of the driver's two mounters.
type driverMounter interface {
	mount.Interface
	GetDiskNumber(deviceName, partition, volumeKey string) (string, error)
	FormatAndMount(source, target, fstype string, options []string) error
	UnmountDevice(target string) error
	GetDiskTotalBytes(devicePath string) (int64, error)
}

// TestPersistentDisk takes a volume through the persistent disk driver's life: stage, publish, report its use, expand
// it, unpublish, unstage. It goes through the driver's own code, for the versions that it prefers and for those that it
// falls back to.
func TestPersistentDisk(t *testing.T) {
	for _, version := range []string{"v1", "v1beta"} {
		t.Run(version, func(t *testing.T) {
			n := csiproxytest.Start(t, csiproxytest.Options{PlainPipes: true, Scenario: "gce-pd-scsi"})
			m := open(t, version)
			safe := &mount.SafeFormatAndMount{Interface: m}
			const (
				staging = `\var\lib\kubelet\plugins\kubernetes.io\csi\pd.csi.storage.gke.io\1\globalmount`

				publishParent = `c:\var\lib\kubelet\pods\2\volumes\kubernetes.io~csi\pv`
				publish       = publishParent + `\mount`
			)
			disk := find(t, n, m)

			if not, err := m.IsLikelyNotMountPoint(staging); !not || err == nil {
				t.Errorf("before staging IsLikelyNotMountPoint = %v, %v, want true and an error", not, err)
			}
			for range 2 { // a repeated call does nothing more
				check(t, "staging", m.FormatAndMount(disk, staging, "ntfs", nil))
			}
			if not, err := m.IsLikelyNotMountPoint(staging); not || err != nil {
				t.Errorf("after staging IsLikelyNotMountPoint = %v, %v, want false", not, err)
			}
			n.WriteFile(staging+`\data`, "precious")
			// In its container the driver makes this directory itself: kubelet's directory is mounted there.
			_, err := n.Filesystem.Mkdir(t.Context(), &filesystemapi.MkdirRequest{Path: publishParent})
			check(t, "making the directory of the pod", err)
			check(t, "publishing", m.Mount(staging, publish, "", nil))
			if got := n.ReadFile(publish + `\data`); got != "precious" {
				t.Errorf("the published volume holds %q", got)
			}

			before := stat(t, safe, publish)
			number, err := strconv.ParseUint(disk, 10, 32)
			check(t, "reading the disk's number", err)
			size, err := m.GetDiskTotalBytes(disk)
			check(t, "size of the disk", err)
			n.GrowDisk(uint32(number), size+5<<30)
			if grown, err := resizefs.NewResizeFs(safe).Resize(disk, publish); !grown || err != nil {
				t.Errorf("Resize = %v, %v, want true", grown, err)
			}
			if after := stat(t, safe, publish); after < before+5<<30-1<<20 {
				t.Errorf("the volume had %d bytes and has %d after 5 GiB more", before, after)
			}

			check(t, "unpublishing", m.Unmount(publish))
			for range 2 {
				check(t, "unstaging", m.UnmountDevice(staging))
			}
			for _, d := range n.Facts().GetDisks() {
				if uint64(d.GetNumber()) == number && d.GetOnline() {
					t.Error("the disk is online after unstaging")
				}
			}
			check(t, "staging anew", m.FormatAndMount(disk, staging, "ntfs", nil))
			if got := n.ReadFile(staging + `\data`); got != "precious" {
				t.Errorf("the volume came back with %q", got)
			}
		})
	}
}

// open makes the driver's mounter, which dials the pipes that it knows.
func open(t *testing.T, version string) driverMounter {
	t.Helper()
	if version == "v1" {
		m, err := mountmanager.NewCSIProxyMounterV1()
		check(t, "connecting", err)
		t.Cleanup(func() { _, _, _ = m.DiskClient.Close(), m.FsClient.Close(), m.VolumeClient.Close() })
		return m
	}
	m, err := mountmanager.NewCSIProxyMounterV1Beta()
	check(t, "connecting", err)
	t.Cleanup(func() { _, _, _ = m.DiskClient.Close(), m.FsClient.Close(), m.VolumeClient.Close() })
	return m
}

// find attaches a disk as Google Cloud names it and has the driver find it.
func find(t *testing.T, n *csiproxytest.Node, m driverMounter) string {
	t.Helper()
	const device = "pvc-2b6b0f4e"
	want := n.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, Page83: "Google  " + device})
	got, err := m.GetDiskNumber(device, "", "")
	check(t, "finding the disk", err)
	if got != strconv.FormatUint(uint64(want), 10) {
		t.Fatalf("the driver finds disk %s, want %d", got, want)
	}
	return got
}

// stat returns the size of a volume as the driver reports it.
func stat(t *testing.T, safe *mount.SafeFormatAndMount, path string) int64 {
	t.Helper()
	_, capacity, _, _, _, _, err := mountmanager.NewStatter(safe).StatFS(path)
	check(t, "asking for the usage", err)
	return capacity
}
