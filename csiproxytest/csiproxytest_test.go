// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	diskbeta "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
	oldapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1alpha1"
	diskgroup "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	betagroup "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	oldgroup "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

func TestMount(t *testing.T) { testMount(t) }

// A recorder is a test that may fail without failing this one. Its cleanups run when run returns.
type recorder struct {
	testing.TB
	cleanups []func()
	failed   bool
	log      strings.Builder
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return r.failed }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(format string, args ...any) {
	fmt.Fprintf(&r.log, format, args...)
}
func (r *recorder) Errorf(format string, args ...any) { r.failed = true; r.Logf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); panic(r) }
func (r *recorder) Fatal(args ...any)                 { r.Fatalf("%s", fmt.Sprint(args...)) }

// keptIn begins the last line of a report.
const keptIn = "The whole journal, tree and log are in "

// run runs a test function and returns its log.
func run(t *testing.T, test func(t testing.TB)) (log string, failed bool) {
	t.Helper()
	r := &recorder{TB: t}
	func() {
		defer func() {
			if cause := recover(); cause != nil && cause != any(r) {
				panic(cause)
			}
		}()
		test(r)
	}()
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	if _, dir, kept := strings.Cut(strings.TrimSpace(r.log.String()), keptIn); kept {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	return r.log.String(), r.failed
}

func TestFailedTestShowsTheJournal(t *testing.T) {
	const password = "hush-hush-hush"
	log, failed := run(t, func(tb testing.TB) {
		n := csiproxytest.Start(tb, csiproxytest.Options{})
		n.SetSMBPassword("csi", password)
		if err := by(t, n).NewSmbGlobalMapping(`\\fs.emulated\share`, "", `EMULATED\csi`, password); err != nil {
			tb.Errorf("mapping: %v", err)
		}
		_, _ = by(t, n).ListDiskIDs()
		_, err := by(t, n).GetDiskState(99)
		tb.Errorf("the driver's own assertion: %v", err)
	})
	if !failed || strings.Contains(log, "mapping:") {
		t.Fatalf("got failed %v and %s", failed, log)
	}
	for _, want := range []string{
		"Disk 0", "OpenDevice", `"password":"[redacted]"`,
		`v1.Disk/GetDiskState {"disk_number":99} NotFound`, `"call failed"`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	for _, unwanted := range []string{password, "page 83 identifiers", "call served"} {
		if strings.Contains(log, unwanted) {
			t.Errorf("the log has %q:\n%s", unwanted, log)
		}
	}
	if calls, storage := strings.Index(log, "GetDiskState {"), strings.Index(log, "Disk 0"); calls > storage {
		t.Errorf("the API calls do not come first:\n%s", log)
	}
	_, dir, _ := strings.Cut(strings.TrimSpace(log), keptIn)
	journal, err := os.ReadFile(filepath.Join(dir, "journal.txt"))
	if err != nil || !strings.Contains(string(journal), "CreateSMBGlobalMapping") ||
		strings.Contains(string(journal), password) {
		t.Errorf("the whole journal: %v\n%s", err, journal)
	}
}

// However much a test did, what it prints can be read.
func TestReportIsShort(t *testing.T) {
	log, _ := run(t, func(tb testing.TB) {
		n := csiproxytest.Start(tb, csiproxytest.Options{})
		for range 120 {
			_, _ = by(t, n).GetDiskState(1)
			_, _ = by(t, n).GetDiskState(99)
		}
		for range 20 {
			n.AttachDisk(csiproxytest.Disk{SizeBytes: 64 << 20, Formatted: true})
		}
		tb.Errorf("the driver's own assertion")
	})
	lines := strings.Split(log, "\n")
	if len(lines) > 200 {
		t.Errorf("the report has %d lines", len(lines))
	}
	if last := lines[len(lines)-2]; !strings.HasPrefix(last, keptIn) {
		t.Errorf("got the last line %q", last)
	}
	for _, want := range []string{"API calls, without the first ", "\n… and ", "The agent's log, without the first "} {
		if !strings.Contains(log, want) {
			t.Errorf("there is no %q in\n%s", want, log)
		}
	}
}

// The agent's log goes where a test wants it.
func TestGivenLogger(t *testing.T) {
	var lines strings.Builder
	log, _ := run(t, func(tb testing.TB) {
		logger := funcr.New(func(_, args string) { lines.WriteString(args) }, funcr.Options{Verbosity: 2})
		n := csiproxytest.Start(tb, csiproxytest.Options{Logger: logger})
		_ = by(t, n).Rescan()
	})
	if log != "" || !strings.Contains(lines.String(), "/v1.Disk/Rescan") {
		t.Errorf("the test got %q, the logger %q", log, lines.String())
	}
}

// If an old version has other messages than the newest, the journal has those that were sent.
func TestJournalHasOldRequests(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	files := csiproxytest.Client(t, n, oldgroup.NewClientWithPipePath)
	_, err := files.Rmdir(t.Context(), &oldapi.RmdirRequest{Path: n.KubeletDir() + `\pods\p`,
		Context: oldapi.PathContext_POD})
	if status.Code(err) != codes.NotFound {
		t.Fatalf("got %v, want NotFound", err)
	}
	// The call is recorded before it is answered, so it is there.
	if want, got := `"context":"POD"`, n.JournalText(); !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

func TestPassedTestShowsNothing(t *testing.T) {
	log, failed := run(t, func(tb testing.TB) {
		n := csiproxytest.Start(tb, csiproxytest.Options{})
		if got := len(n.Facts().GetDisks()); got != 3 {
			tb.Errorf("got %d disks", got)
		}
	})
	if failed || log != "" {
		t.Errorf("got failed %v and the log %q", failed, log)
	}
}

func TestMistakesFailTheTest(t *testing.T) {
	for name, mistake := range map[string]struct {
		make func(tb testing.TB, n *csiproxytest.Node)
		want string // in the log
	}{
		"no such disk": {func(_ testing.TB, n *csiproxytest.Node) { n.DetachDisk(99) }, "disk 99: no such disk"},
		"no such function": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Fail(csiproxytest.Calls{Function: "DeviceIoControll"}, csiproxytest.ERROR_NOT_READY)
		}, `unknown kernel function "DeviceIoControll"; did you mean DeviceIoControl?`},
		"no such method": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Cut(csiproxytest.Calls{Method: "volume/MontVolume"})
		}, `"volume/MontVolume" selects no method of the API; did you mean volume/MountVolume?`},
		"a method without its group": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Find(csiproxytest.Query{Method: "StageDisk"})
		}, `"StageDisk" selects no method of the API; did you mean nodesteps/StageDisk?`},
		"a method of another group": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Wait(csiproxytest.Query{Method: "volume/v1/Mkdir"})
		}, `did you mean filesystem/Mkdir?`},
		"a call of no function": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Wait(csiproxytest.Query{Function: "FormatVolum"})
		}, `unknown kernel function "FormatVolum"; did you mean FormatVolume?`},
		"no such code": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Delay(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_CREATE_DISC"}, 1, 1)
		}, "did you mean IOCTL_DISK_CREATE_DISK"},
		"a negative count": {func(_ testing.TB, n *csiproxytest.Node) {
			n.Cut(csiproxytest.Calls{Method: "volume", Times: -1})
		}, "must not be negative"},
		"no such path": {func(_ testing.TB, n *csiproxytest.Node) { n.HostPath(`C:\a\b\c`) }, `C:\a\b\c`},
		"no client": {func(tb testing.TB, n *csiproxytest.Node) {
			csiproxytest.Client(tb, n, os.Open)
		}, "is not a client of an API group"},
	} {
		t.Run(name, func(t *testing.T) {
			past := false
			log, failed := run(t, func(tb testing.TB) {
				n := csiproxytest.Start(tb, csiproxytest.Options{})
				mistake.make(tb, n)
				past = true
			})
			if !failed || past || !strings.Contains(log, mistake.want) {
				t.Errorf("got failed %v, went on %v, the log\n%s\nwant %q in it", failed, past, log, mistake.want)
			}
		})
	}
}

func TestHangReleaseAndReboot(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	rescan := func() <-chan error {
		done := make(chan error, 1)
		go func() { done <- by(t, n).Rescan() }()
		return done
	}
	reached, release := n.Hang(csiproxytest.Calls{Function: "ReenumerateDevices", Times: 1})
	done := rescan()
	<-reached
	if text := n.JournalText(); !strings.Contains(text, "running") {
		t.Errorf("the journal does not show the hanging call:\n%s", text)
	}
	release()
	if err := <-done; err != nil {
		t.Errorf("the released call: %v", err)
	}

	reached, _ = n.Hang(csiproxytest.Calls{Function: "ReenumerateDevices"})
	done = rescan()
	<-reached
	n.Reboot()
	if err := <-done; status.Code(err) != codes.Unavailable {
		t.Errorf("the call that the reboot cut off: got %v, want Unavailable", err)
	}
	if err := <-rescan(); err != nil {
		t.Errorf("after the reboot: %v", err)
	}
}

func TestDisksAddedRemovedAndGrown(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	other := csiproxytest.Start(t, csiproxytest.Options{})
	number := n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1",
		Page83: "VENDOR  vol-1", NVMe: true})
	n.GrowDisk(number, 2<<30)
	n.SetDiskOnline(number, false)
	d := n.Facts().GetDisks()[number]
	if d.GetSizeBytes() != 2<<30 || d.GetOnline() || d.GetSerialNumber() != "vol-1" || d.GetPage83() != "VENDOR  vol-1" ||
		!strings.EqualFold(d.GetBusType(), "nvme") {
		t.Errorf("got %v", d)
	}
	moved := other.AttachDisk(csiproxytest.Disk{ImagePath: n.DetachDisk(number)})
	disks := csiproxytest.Client(t, other, betagroup.NewClientWithPipePath)
	if r, err := disks.GetDiskStats(t.Context(), &diskbeta.GetDiskStatsRequest{DiskNumber: moved}); err != nil ||
		r.GetTotalBytes() != 2<<30 {
		t.Errorf("the disk at the other node: got %v, %v", r, err)
	}
}

func TestSetenv(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: scenario(t),
		WorkingDirs: []string{`C:\work`}, PlainPipes: true})
	n.Setenv()
	disks, err := diskgroup.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disks.Close() }()
	if _, err := disks.ListDiskIDs(t.Context(), &diskv1.ListDiskIDsRequest{}); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(n.Facts().GetDisks(), func(d *admin.Disk) bool { return d.GetSizeBytes() == 7<<30 }) {
		t.Errorf("the node is not that of the scenario: %v", n.Facts())
	}
}

func scenario(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte("disks:\n- size: 7Gi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUnusedFaultIsNamed(t *testing.T) {
	log, _ := run(t, func(tb testing.TB) {
		n := csiproxytest.Start(tb, csiproxytest.Options{})
		n.Fail(csiproxytest.Calls{Function: "OpenDevice", Object: "PhysicalDrive77"}, csiproxytest.ERROR_NOT_READY)
		n.FailRPC(csiproxytest.Calls{Method: "disk/ListDiskIDs"}, codes.Aborted, "again")()
	})
	if !strings.Contains(log, "no call met") || !strings.Contains(log, "PhysicalDrive77") ||
		strings.Contains(log, "ListDiskIDs") {
		t.Errorf("got %s", log)
	}
}
