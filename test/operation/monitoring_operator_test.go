// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

func TestMetricsOfANode(t *testing.T) {
	w := startWatched(t)
	id := w.Formatted(1)
	w.OK(w.MountVolume(id, caller.Pods+`\m`))
	w.Code(w.MountVolume(id, `C:\Windows`), codes.InvalidArgument)
	w.OK(w.Map(caller.Share, ""))
	w.Connected()

	p := w.scrape(t)
	p.has(t,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="PartitionDisk",grpc_service="v1.Disk",grpc_type="unary"} 1`,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="MountVolume",grpc_service="v2alpha1.Volume",grpc_type="unary"} 1`,
		`grpc_server_handled_total{grpc_code="InvalidArgument",grpc_method="MountVolume",grpc_service="v2alpha1.Volume",grpc_type="unary"} 1`,
		`grpc_server_handling_seconds_count{grpc_method="MountVolume",grpc_service="v2alpha1.Volume",grpc_type="unary"} 2`,
		`grpc_server_started_total{grpc_method="MountVolume",grpc_service="v2alpha1.Volume",grpc_type="unary"} 2`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="",function="FormatVolume"} 1`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="IOCTL_DISK_CREATE_DISK",function="DeviceIoControl"} 1`,
		`csi_proxy_kernel_call_duration_seconds_count{control_code="",function="SetVolumeMountPoint"} 1`,
		`csi_proxy_kernel_calls_stuck{control_code="",function="FormatVolume"} 0`,
		`csi_proxy_operations_running{operation="MountVolume"} 0`,
		`csi_proxy_disks{online="true",read_only="false"} 2`, // 0 and 1
		`csi_proxy_disks{online="false",read_only="false"} 1`,
		`csi_proxy_disks{online="false",read_only="true"} 1`, // the target's
		`csi_proxy_disks{online="true",read_only="true"} 0`,
		`csi_proxy_volumes{mounted="true"} 2`,  // C: and ours
		`csi_proxy_volumes{mounted="false"} 1`, // the EFI system partition's
		`csi_proxy_smb_global_mappings{status="OK"} 1`,
		`csi_proxy_iscsi_sessions 1`,
		`csi_proxy_collect_success{collector="disks"} 1`,
		`csi_proxy_collect_errors_total{collector="disks"} 0`,
		`csi_proxy_kernel_up 1`,
		`csi_proxy_endpoint_up{endpoint="csi-proxy-disk-v1"} 1`,
		`csi_proxy_endpoint_up{endpoint="csiproxy-admin"} 1`,
	)
	if up := strings.Count(string(p), "\ncsi_proxy_endpoint_up{"); up != w.Agent.Ready()+1 {
		t.Errorf("%d endpoints, want %d", up, w.Agent.Ready()+1)
	}
	if build := regexp.MustCompile(
		`csi_proxy_build_info\{go_version="go[^"]+",revision="[^"]+",version="[^"]+"\} 1`); !build.MatchString(string(p)) {
		t.Error("the build is not in the metrics")
	}
	if strings.Contains(string(p), "csi-password") {
		t.Error("the metrics hold a secret")
	}
	if code, text := w.get(t, "/readyz"); code != http.StatusOK || !strings.HasPrefix(text, "ok\n") {
		t.Errorf("readyz: %d %s", code, text)
	}

	// After a reboot of the node the same counters go on.
	w.Reboot()
	_, err := w.ListDiskIDs()
	w.OK(err)
	w.scrape(t).has(t,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="PartitionDisk",grpc_service="v1.Disk",grpc_type="unary"} 1`,
		`grpc_server_handled_total{grpc_code="OK",grpc_method="ListDiskIDs",grpc_service="v1.Disk",grpc_type="unary"} 1`,
		`csi_proxy_endpoint_up{endpoint="csi-proxy-disk-v1"} 1`,
	)

	// A node whose iSCSI service does not run is normal.
	other := startWatched(t)
	w.OK(other.StopService("MSiSCSI", true))
	p = other.scrape(t)
	p.has(t, `csi_proxy_collect_success{collector="iscsi"} 1`)
	if n, ok := p.value("csi_proxy_iscsi_sessions"); ok {
		t.Errorf("there are %v sessions although they cannot be counted", n)
	}
}

// A hanging kernel call is visible while it hangs: in flight, running, by its age, with the calls that join it, wait
// behind it and give up. The node stays ready, as others are served.
func TestHungOperation(t *testing.T) {
	w := startWatched(t)
	id := w.Formatted(1)
	reached, release := w.Faults.Hang("Flush")
	defer release()
	results := make(chan error, 3)
	flush := func(ctx context.Context) { results <- w.Within(ctx).WriteVolumeCache(id) }
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	go flush(short)
	<-reached
	const started = `grpc_server_started_total{grpc_method="WriteVolumeCache",grpc_service="v2alpha1.Volume",grpc_type="unary"} `
	handled := func(code, n string) string {
		return `grpc_server_handled_total{grpc_code="` + code + `",grpc_method="WriteVolumeCache",` +
			`grpc_service="v2alpha1.Volume",grpc_type="unary"} ` + n
	}
	p := w.until(t, started+"1")
	p.has(t,
		`csi_proxy_kernel_calls_running{control_code="",function="Flush"} 1`,
		`csi_proxy_operations_running{operation="WriteVolumeCache"} 1`,
		`csi_proxy_operations_waiting{operation="WriteVolumeCache"} 0`,
	)
	if age, _ := p.value(`csi_proxy_kernel_call_oldest_seconds{control_code="",function="Flush"}`); age <= 0 {
		t.Errorf("the call that hangs has the age %v", age)
	}
	cancel()
	if err := <-results; status.Code(err) != codes.Canceled {
		t.Errorf("got %v, want Canceled", err)
	}
	w.until(t, `csi_proxy_operations_expired_total{operation="WriteVolumeCache"} 1`)
	w.until(t, handled("Canceled", "1")).has(t, // which it is a moment after the caller has its answer
		`csi_proxy_kernel_calls_running{control_code="",function="Flush"} 1`,
		`csi_proxy_operations_running{operation="WriteVolumeCache"} 1`,
	)
	go flush(t.Context()) // must flush what was written since, so it waits for its turn
	w.until(t, `csi_proxy_operations_waiting{operation="WriteVolumeCache"} 1`)
	go flush(t.Context()) // and this one shares that turn
	w.until(t, `csi_proxy_operations_joined_total{operation="WriteVolumeCache"} 1`)
	w.until(t, started+"3") // a scrape does not read all values at one moment
	if code, text := w.get(t, "/readyz"); code != http.StatusOK {
		t.Errorf("readyz: %d %s", code, text)
	}

	release()
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	w.until(t, handled("OK", "2"))
	w.until(t, `csi_proxy_operations_running{operation="WriteVolumeCache"} 0`).has(t,
		`csi_proxy_kernel_calls_running{control_code="",function="Flush"} 0`,
		`csi_proxy_kernel_call_oldest_seconds{control_code="",function="Flush"} 0`,
		`csi_proxy_operations_waiting{operation="WriteVolumeCache"} 0`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="",function="Flush"} 2`,
	)
}

// When Windows itself hangs, readyz reports it and names the function, scrapes go on without the values that cannot be
// read, and the process is not to be killed for it. Afterwards everything is as before.
func TestHungWindows(t *testing.T) {
	w := startWatched(t)
	reached, release := w.Faults.Hang("DiskInterfaces")
	defer release()
	code, text := w.get(t, "/readyz")
	<-reached
	hung := regexp.MustCompile(`^not ready\nendpoints: all accept\nkernel: DiskInterfaces has not returned since 20\d\d-\S+Z, for \S+s\n$`)
	if code != http.StatusServiceUnavailable || !hung.MatchString(text) {
		t.Errorf("readyz: got %d %s", code, text)
	}
	if code, text := w.get(t, "/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("healthz: got %d %s", code, text)
	}
	w.scrape(t).has(t, `csi_proxy_kernel_up 0`)
	// a scrape makes this call, too
	w.until(t, `csi_proxy_kernel_calls_running{control_code="",function="DiskInterfaces"} 1`)
	// a storm of checks does not ask Windows
	for range 20 {
		if code, _ := w.get(t, "/readyz"); code != http.StatusServiceUnavailable {
			t.Errorf("readyz in the storm: %d", code)
		}
	}
	if asked := w.Called("DiskInterfaces"); len(asked) > 5 { // the check's and that of the scrapes
		t.Errorf("DiskInterfaces was called %d times", len(asked))
	}
	release()
	w.until(t, `csi_proxy_kernel_up 1`)
	if code, text := w.get(t, "/readyz"); code != http.StatusOK || text != "ok\nendpoints: all accept\nkernel: answers\n" {
		t.Errorf("readyz afterwards: got %d %s", code, text)
	}
	w.until(t, `csi_proxy_kernel_calls_running{control_code="",function="DiskInterfaces"} 0`)
}

// Values from a part of Windows that hangs are missing from the scrape, which is answered nevertheless with the others.
func TestScrapeOmitsHungParts(t *testing.T) {
	w := startWatched(t)
	_, release := w.Faults.Hang("SMBGlobalMappings")
	defer release()
	p := w.scrape(t)
	p.has(t,
		`csi_proxy_collect_success{collector="smb"} 0`, `csi_proxy_collect_errors_total{collector="smb"} 1`,
		`csi_proxy_collect_success{collector="disks"} 1`, `csi_proxy_disks{online="true",read_only="false"} 2`,
	)
	if n, ok := p.value(`csi_proxy_smb_global_mappings{status="OK"}`); ok {
		t.Errorf("there are %v mappings although they cannot be counted", n)
	}
	release()
	w.until(t, `csi_proxy_collect_success{collector="smb"} 1`).has(t, `csi_proxy_smb_global_mappings{status="OK"} 0`)
}

func TestFailingWindows(t *testing.T) {
	w := startWatched(t)
	w.Faults.Add(testnode.Fault{Function: "VolumeNames", Error: win32.ERROR_GEN_FAILURE})
	code, text := w.get(t, "/readyz")
	if code != http.StatusServiceUnavailable || !strings.Contains(text, "kernel: listing the volumes: ") ||
		!strings.Contains(text, "ERROR_GEN_FAILURE") {
		t.Errorf("readyz: got %d %s", code, text)
	}
	w.scrape(t).has(t, `csi_proxy_kernel_up 0`, `csi_proxy_collect_success{collector="volumes"} 0`,
		`csi_proxy_collect_success{collector="disks"} 1`)
	if n, _ := w.scrape(t).value(`csi_proxy_kernel_calls_total{code="ERROR_GEN_FAILURE",control_code="",function="VolumeNames"}`); n < 2 {
		t.Errorf("%v calls failed, want 2 at least: the check's and the one that counts", n)
	}
}

func TestStoppedAgentIsNotReady(t *testing.T) {
	w := startWatched(t)
	w.get(t, "/readyz") // Windows has answered, and still
	w.OK(w.Agent.Stop(t.Context()))
	if code, text := w.get(t, "/readyz"); code != http.StatusServiceUnavailable ||
		!strings.HasPrefix(text, "not ready\nendpoints: not accepting: csi-proxy-") {
		t.Errorf("readyz: got %d %s", code, text)
	}
	w.scrape(t).has(t, `csi_proxy_endpoint_up{endpoint="csi-proxy-disk-v1"} 0`,
		`csi_proxy_collect_success{collector="disks"} 0`)
	if code, _ := w.get(t, "/healthz"); code != http.StatusOK {
		t.Errorf("healthz of an agent that was told to stop: %d", code)
	}
}

// Callers are untrusted: what they invent must not become labels, as Prometheus keeps every one.
func TestCallersMakeNoSeries(t *testing.T) {
	w := startWatched(t)
	series := func() int { return strings.Count(string(w.scrape(t)), "\ncsi_proxy_") }
	ask := func(name string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := w.Within(ctx)
		_, _ = c.GetService(name)
		_ = c.StartService(name)
		_, _ = c.PathExists(caller.Pods + `\` + name)
		_ = c.CreateSymlink(caller.Pods+`\`+name, caller.Pods+`\l\`+name)
		_ = c.NewSmbGlobalMapping(`\\`+name+`\share`, "", name, name)
		_ = c.UnmountVolume(name, name)
		_ = c.AddTargetPortal(name)
		_ = c.ConnectTarget("iqn.2026-01.com:" + name)
	}
	ask("evil")
	series() // the scrape, too, makes kernel calls for the first time
	before := series()
	for i := range 20 {
		ask(fmt.Sprintf("evil-%d", i))
	}
	if after := series(); after != before {
		t.Errorf("there were %d series, and there are %d", before, after)
	}
	if strings.Contains(string(w.scrape(t)), "evil") {
		t.Error("a caller's words are in the metrics")
	}
}
