// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fsapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

var update = flag.Bool("update", false, "rewrite docs/emulated-node-recorded.md")

// TestRecordings replays the recordings of real machines. A difference that nobody has accepted fails, and so does an
// accepted one that is not there any more.
func TestRecordings(t *testing.T) {
	all, err := Load(filepath.Join("..", "..", "docs", "evidence"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d recordings, %v", len(all), err)
	}
	f, err := os.Open("accepted.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	accepted, err := ReadAccepted(f)
	if err != nil {
		t.Fatal(err)
	}
	var reports []*Report
	for _, one := range all {
		report, err := Replay(one, t.TempDir(), nil)
		if err != nil {
			t.Fatalf("%s, %s: %v", one.Host, one.Program, err)
		}
		reports = append(reports, report)
		for _, d := range report.Differences() {
			if accept(accepted, one.Header, d) == nil {
				t.Errorf("%s, first at %s:\n\t%s | %v", one.Program, report.First[d], one.Host, d)
			}
		}
	}
	for _, a := range accepted {
		if !a.used {
			t.Errorf("accepted.txt: there is no such difference any more: %s | %v", a.Host, a.Difference)
		}
	}
	own, err := Replay(lived(t), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" { // a node there cannot have the names that the host reserves, such as CON
		checkPage(t, Page(append(reports, own), accepted))
	}
}

func checkPage(t *testing.T, want string) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", "emulated-node-recorded.md")
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(got), "\r\n", "\n"), want); diff != "" {
		t.Errorf("the page differs from what the recordings give; go test ./test/replay -update writes it (-got +want):\n%s",
			diff)
	}
}

// recorded runs something on a new emulated node and returns its calls.
func recorded(t *testing.T, run func(n *emulated.Node, k kernel.Kernel)) recording.Recording {
	t.Helper()
	n, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	var text bytes.Buffer
	run(n, recording.Record(n, recording.NewWriter(&text, recording.OfEmulated("test/replay"))))
	all, err := recording.Read(&text)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d recordings, %v", len(all), err)
	}
	return all[0]
}

// life is the result of lived, which every test here needs and none changes.
var life struct {
	once     sync.Once
	recorded recording.Recording
}

// lived returns the recorded life of a disk: attached, formatted, mounted, linked, filled, grown, unmounted and pulled.
func lived(t *testing.T) recording.Recording {
	t.Helper()
	life.once.Do(func() { life.recorded = live(t) })
	return life.recorded
}

func live(t *testing.T) recording.Recording {
	t.Helper()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	return recorded(t, func(n *emulated.Node, k kernel.Kernel) {
		ops, err := node.New(k, node.Config{WorkingDirs: []string{node.KubeletDir}})
		must(nil, err)
		ctx := t.Context()
		ops.EnablePrivileges(ctx)
		ops.ProveDirectOpens(ctx)
		c := csiproxy.Over(server.NewLocal(apis.All(ops), server.Options{}))
		must(c.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{}))
		number, err := n.AttachDisk(emulated.DiskSpec{SizeBytes: 1 << 30, SerialNumber: "replayed",
			LUNAuto: true, Offline: true})
		must(nil, err)
		must(c.Disk.Rescan(ctx, &diskapi.RescanRequest{}))
		must(c.Disk.ListDiskIDs(ctx, &diskapi.ListDiskIDsRequest{}))
		must(c.Disk.PartitionDisk(ctx, &diskapi.PartitionDiskRequest{DiskNumber: number}))
		must(c.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: true}))
		volumes, err := c.Volume.ListVolumesOnDisk(ctx, &volumeapi.ListVolumesOnDiskRequest{DiskNumber: number})
		must(volumes, err)
		volume := volumes.GetVolumeIds()[0]
		must(c.Volume.FormatVolume(ctx, &volumeapi.FormatVolumeRequest{VolumeId: volume}))
		const staging, pod = `C:\var\lib\kubelet\plugins\staging`, `C:\var\lib\kubelet\pods\link`
		must(c.Volume.MountVolume(ctx, &volumeapi.MountVolumeRequest{VolumeId: volume, TargetPath: staging}))
		must(c.Filesystem.CreateSymlink(ctx, &fsapi.CreateSymlinkRequest{SourcePath: staging, TargetPath: pod}))
		host, err := n.HostPath(staging)
		must(nil, err)
		must(nil, os.WriteFile(filepath.Join(host, "file"), []byte("content"), 0o600))
		must(c.Volume.GetVolumeIDFromTargetPath(ctx, &volumeapi.GetVolumeIDFromTargetPathRequest{TargetPath: pod}))
		must(nil, n.GrowDisk(number, 2<<30))
		must(c.Disk.Rescan(ctx, &diskapi.RescanRequest{}))
		must(c.Volume.ResizeVolume(ctx, &volumeapi.ResizeVolumeRequest{VolumeId: volume}))
		must(c.Volume.GetVolumeStats(ctx, &volumeapi.GetVolumeStatsRequest{VolumeId: volume}))
		must(c.Volume.WriteVolumeCache(ctx, &volumeapi.WriteVolumeCacheRequest{VolumeId: volume}))
		must(c.Filesystem.Rmdir(ctx, &fsapi.RmdirRequest{Path: pod, Force: true}))
		must(c.Volume.UnmountVolume(ctx, &volumeapi.UnmountVolumeRequest{VolumeId: volume, TargetPath: staging}))
		must(c.Disk.SetDiskState(ctx, &diskapi.SetDiskStateRequest{DiskNumber: number}))
		_, err = n.DetachDisk(number)
		must(nil, err)
		must(c.Disk.ListDiskLocations(ctx, &diskapi.ListDiskLocationsRequest{}))
		must(c.System.StartService(ctx, &systemapi.StartServiceRequest{Name: "Spooler"}))
		must(c.System.GetBIOSSerialNumber(ctx, &systemapi.GetBIOSSerialNumberRequest{}))
	})
}

// TestOwnRecordings: a node agrees with its own recordings, however little a recording tells of it.
func TestOwnRecordings(t *testing.T) {
	recordings := map[string]recording.Recording{"life": lived(t)}
	if testnode.Long() {
		recordings["exercise"] = recorded(t, func(n *emulated.Node, k kernel.Kernel) {
			host, err := n.HostPath(`C:\var\lib\kubelet`)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(host, "exercise"), 0o700); err != nil {
				t.Fatal(err)
			}
			Exercise(k, `C:\var\lib\kubelet\exercise`)
		})
	}
	for name, one := range recordings {
		report, err := Replay(one, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		equal := 0
		for kind, tally := range report.Kinds {
			equal += tally.Equal
			for reason, n := range tally.Never {
				t.Logf("%s: %d calls of %s were never compared: %s", name, n, kind, reason)
			}
		}
		for _, d := range report.Differences() {
			t.Errorf("%s, first at %s: %v", name, report.First[d], d)
		}
		t.Logf("%s: %d of %d calls compared, all equal", name, equal, len(one.Calls))
	}
}

// broken changes the answers of a kernel.
type broken struct {
	kernel.Kernel
	handle func(kernel.Handle) kernel.Handle // nil: as they are
}

func (b broken) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	h, err := b.Kernel.OpenDevice(path, access)
	if err != nil || b.handle == nil {
		return h, err
	}
	return b.handle(h), nil
}

type lists struct{ kernel.Kernel }

func (lists) VolumeNames() ([]string, error) { return nil, nil }

type starts struct{ kernel.Kernel }

func (starts) StartService(string) error {
	return &kernel.Error{Function: "StartServiceW", Code: win32.ERROR_ACCESS_DENIED}
}

type queries struct{ kernel.Kernel }

func (q queries) QueryService(name string) (kernel.Service, error) {
	s, err := q.Kernel.QueryService(name)
	s.StartType++
	return s, err
}

// outputs changes the output of one control code.
type outputs struct {
	kernel.Handle
	code   uint32
	change func(out []byte)
}

func (o outputs) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	n, err := o.Handle.DeviceIoControl(code, in, out)
	if err == nil && code == o.code && n > 0 {
		o.change(out[:n])
	}
	return n, err
}

// TestBrokenNodes: each of these nodes answers one thing differently, and it is seen, by name.
func TestBrokenNodes(t *testing.T) {
	one := lived(t)
	control := func(code uint32, at int) func(kernel.Kernel) kernel.Kernel {
		return func(k kernel.Kernel) kernel.Kernel {
			return broken{k, func(h kernel.Handle) kernel.Handle {
				return outputs{h, code, func(out []byte) {
					if at < len(out) {
						out[at] ^= 0x40
					}
				}}
			}}
		}
	}
	for name, test := range map[string]struct {
		around func(kernel.Kernel) kernel.Kernel
		want   string
		short  bool // in every run
	}{
		"a list": {func(k kernel.Kernel) kernel.Kernel { return lists{k} },
			"VolumeNames | volume | there | missing", false},
		"a code": {func(k kernel.Kernel) kernel.Kernel { return starts{k} },
			"StartService | result | success | ERROR_ACCESS_DENIED", false},
		"a field": {func(k kernel.Kernel) kernel.Kernel { return queries{k} }, "QueryService | StartType", false},
		"disk attributes": {control(win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, 8),
			"IOCTL_DISK_GET_DISK_ATTRIBUTES | Attributes", true},
		"a partition type": {control(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, 48+144+32),
			"IOCTL_DISK_GET_DRIVE_LAYOUT_EX | Partitions.*.Type", false},
		"extents": {control(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, 8+8+2),
			"IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS | .*.StartingOffset", false},
		"a SCSI address":  {control(win32.IOCTL_SCSI_GET_ADDRESS, 7), "IOCTL_SCSI_GET_ADDRESS | LUN", false},
		"a serial number": {control(win32.IOCTL_STORAGE_QUERY_PROPERTY, 60), "IOCTL_STORAGE_QUERY_PROPERTY", false},
	} {
		t.Run(name, func(t *testing.T) {
			if !test.short && !testnode.Long() {
				t.Skip("require CSI_PROXY_LONG: one of these is tried in every run")
			}
			report, err := Replay(one, t.TempDir(), test.around)
			if err != nil {
				t.Fatal(err)
			}
			found := report.Differences()
			if !slices.ContainsFunc(found, func(d Difference) bool { return strings.Contains(d.String(), test.want) }) {
				t.Errorf("found %v, not %s", found, test.want)
			}
		})
	}
}

// A report of a machine holds a recording, too, line by line. One with gaps is not replayed.
func TestReports(t *testing.T) {
	calls := lived(t).Calls
	lines := []any{recording.Header{Schema: recording.Schema, Host: recording.Windows, Version: "10.0.20348",
		Architecture: "amd64", Date: "2026-11-23"}}
	for _, c := range calls {
		lines = append(lines, c)
	}
	report := proof.Report{Kit: proof.Kit{SHA256: strings.Repeat("0", 64)}, Machine: proof.Machine{System: proof.Windows}}
	for _, line := range lines {
		report.Calls = append(report.Calls, marshal(line))
	}
	dir := t.TempDir()
	write := func() {
		t.Helper()
		var text bytes.Buffer
		err := report.Write(&text)
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "reports"), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "reports", "x.json.gz"), text.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write()
	all, err := Load(dir)
	if err != nil || len(all) != 1 || all[0].Host != recording.Windows || len(all[0].Calls) != len(calls) {
		t.Fatalf("%d recordings, %v", len(all), err)
	}
	report.CallsLeftOut = 1
	write()
	if _, err := Load(dir); err == nil {
		t.Error("a report with gaps is replayed")
	}
}

func TestReadAccepted(t *testing.T) {
	all, err := ReadAccepted(strings.NewReader("# x\n\nWine | OpenFile | result | A | * | host | because | it is so\n"))
	if err != nil || len(all) != 1 || all[0].Reason != "because | it is so" {
		t.Fatalf("got %+v, %v", all, err)
	}
	wine := recording.Header{Host: recording.Wine}
	for d, want := range map[Difference]bool{
		{"OpenFile", "result", "A", "B"}: true, {"OpenFile", "result", "B", "B"}: false, {"Flush", "result", "A", "B"}: false,
	} {
		if got := accept(all, wine, d) != nil; got != want {
			t.Errorf("%v: %t", d, got)
		}
	}
	if accept(all, recording.Header{Host: recording.Windows}, Difference{"OpenFile", "result", "A", "B"}) != nil {
		t.Error("what is accepted of Wine is accepted of Windows")
	}
	for _, line := range []string{"Wine | OpenFile", "Wine | OpenFile | result | A | B | nobody | because",
		"Wine | OpenFile | result | A | B | host |"} {
		if _, err := ReadAccepted(strings.NewReader(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
