// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }

const staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ebs.csi.aws.com\5f1c\globalmount`

// served is an agent with a page, as a user starts it, and clients of a driver and of what changes the node.
type served struct {
	*testnode.Process
	state, url string
	driver     *csiproxy.Client
	control    *adminclient.Client
}

func serve(t *testing.T, state string, flags ...string) *served {
	t.Helper()
	p := testnode.LaunchEmulated(t, append([]string{"-state-dir=" + state}, flags...)...)
	url := regexp.MustCompile(`serving the page" url="([^"]+)"`).FindStringSubmatch(p.Logged())
	if url == nil {
		t.Fatalf("the log does not say where the page is:\n%s", p.Logged())
	}
	driver := csiproxy.New(csiproxy.Options{SocketDir: filepath.Join(state, "run")})
	t.Cleanup(func() { _ = driver.Close() })
	control, err := adminclient.Dial(t.Context(), filepath.Join(state, "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.Close() })
	return &served{p, state, url[1], driver, control}
}

// stage makes a volume on a disk and mounts it, as a driver does.
func (s *served) stage(t *testing.T, disk uint32, target string) error {
	t.Helper()
	if _, err := s.driver.Disk.PartitionDisk(t.Context(), &diskv1.PartitionDiskRequest{DiskNumber: disk}); err != nil {
		return err
	}
	list, err := s.driver.Volume.ListVolumesOnDisk(t.Context(), &volumeapi.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err != nil {
		return err
	}
	id := list.GetVolumeIds()[0]
	if _, err := s.driver.Volume.FormatVolume(t.Context(), &volumeapi.FormatVolumeRequest{VolumeId: id}); err != nil {
		return err
	}
	_, err = s.driver.Volume.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: target})
	return err
}

func TestPage(t *testing.T) {
	b := launch(t)
	t.Run("volume's life", func(t *testing.T) { testVolumeLife(t, b) })
	t.Run("many disks", func(t *testing.T) { testManyDisks(t, b) })
	t.Run("long journal", func(t *testing.T) { testLongJournal(t, b) })
	t.Run("agent starts again", func(t *testing.T) { testAgentStartsAgain(t, b) })
}

// A user watches a disk and a driver's volume come, a call fail, and the disk go.
func testVolumeLife(t *testing.T, chromium *browser) {
	s := serve(t, testnode.ShortDir(t), "-ui=127.0.0.1:0")
	b := chromium.open(t, s.url)
	b.until(`document.querySelectorAll('.disk').length === 3`)

	attach := func(serial string) {
		t.Helper()
		_, err := s.control.Add(t.Context(), &api.AddRequest{
			Document: api.Document("disks", map[string]any{"size": 10 << 30, "serial": serial})})
		if err != nil {
			t.Fatal(err)
		}
	}
	fail := func(function string) {
		t.Helper()
		_, err := s.control.AddFault(t.Context(), &api.AddFaultRequest{
			Fault: &api.Fault{Function: function, Fail: "ERROR_NOT_READY", Times: 1}})
		if err != nil {
			t.Fatal(err)
		}
	}
	attach("vol0123456789abcdef3")
	b.until(`document.querySelector('#disk-3').textContent.includes('vol0123456789abcdef3')`)
	if err := s.stage(t, 3, staging); err != nil {
		t.Fatal(err)
	}
	b.until(fmt.Sprintf(`document.querySelector('#disk-3 .mount').textContent.includes(%q)`, staging))

	fail("SetVolumeMountPoint")
	b.until(`document.querySelector('#faults [data-fault="1"]').textContent.includes('ERROR_NOT_READY')`)
	if err := s.stage(t, 1, staging+"-1"); err == nil {
		t.Error("the fault did not take effect")
	}
	b.until(`document.querySelector('#journal details').textContent.includes('MountVolume')`)
	b.click(`document.querySelector('#journal summary')`)
	b.until(`document.querySelector('#journal details[open]').textContent.includes('Unavailable')`)
	b.until(`[...document.querySelectorAll('#journal details[open] .kernel')].some(k => k.textContent.startsWith('SetVolumeMountPoint') && k.textContent.includes('ERROR_NOT_READY'))`)
	b.until(`document.querySelectorAll('#faults [data-fault]').length === 0`) // it was for one call
	fail("FormatVolume")
	b.until(`document.querySelectorAll('#faults [data-fault]').length === 1`)
	if screenshot := os.Getenv("CSI_PROXY_SCREENSHOT"); screenshot != "" {
		b.picture(screenshot)
	}

	for _, change := range []*structpb.Struct{
		api.Document("disks", map[string]any{"number": 3, "size": 30 << 30}),
		api.Document("smbServers", map[string]any{"name": "fs.emulated", "stopped": true}),
	} {
		if _, err := s.control.Change(t.Context(), &api.ChangeRequest{Document: change}); err != nil {
			t.Fatal(err)
		}
	}
	b.until(`document.querySelector('#disk-3').textContent.includes('Disk 330 GiB')`)
	b.until(`document.querySelector('[data-server="fs.emulated"]').textContent.includes('stopped')`)
	_, err := s.control.Remove(t.Context(), &api.RemoveRequest{
		Document: api.Document("disks", map[string]any{"number": 3})})
	if err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector('#disk-3') === null`)
	b.until(`document.getElementById('detached').textContent.includes('vol0123456789abcdef3')`)
	b.until(`document.getElementById('findings-section').textContent.includes('globalmount')`)
	b.until(`document.getElementById('remote').textContent.includes('leads nowhere')`)

	b.fill(`document.getElementById('filter')`, "setvolumemountpoint")
	b.until(`document.querySelectorAll('#journal details').length === 3`) // two mounts and a fault
	b.click(`document.getElementById('failed')`)
	b.until(`document.querySelectorAll('#journal details').length === 1`)

	attach("<img src=x>")
	b.until(`document.querySelector('#disk-3').textContent.includes('<img src=x>')`)
	var images int
	b.eval(`document.querySelectorAll('img').length`, &images)
	if images != 0 {
		t.Error("what the node says has become markup")
	}
}

// Two hundred disks are folded, can be filtered, and stay as they are while others change.
func testManyDisks(t *testing.T, chromium *browser) {
	s := serve(t, testnode.ShortDir(t), "-ui=127.0.0.1:0")
	b := chromium.open(t, s.url)
	b.until(`document.querySelectorAll('.disk').length === 3`)
	b.eval(`window.shownStorage = showStorage; window.made = n => ({tree: {disks: Array.from({length: 200}, (_, i) => (
		{diskNumber: i, sizeBytes: String((i === 7 ? n : 1) * 2 ** 30), style: 'RAW', online: true, serialNumber: 'serial-' + i}))}, seen: {}});
		showStorage = () => {}; shownStorage(made(1))`, nil)
	b.until(`document.querySelectorAll('.disk').length === 200 && document.getElementById('tree').scrollHeight > document.getElementById('tree').clientHeight`)
	b.fill(`document.getElementById('disk-filter')`, "serial-77")
	b.until(`[...document.querySelectorAll('.disk')].filter(d => !d.hidden).map(d => d.id).join() === 'disk-77'`)
	b.fill(`document.getElementById('disk-filter')`, "")
	b.eval(`window.eighth = document.querySelector('#disk-8'); document.querySelector('#disk-7').open = true; shownStorage(made(3))`, nil)
	b.until(`document.querySelector('#disk-7').textContent.includes('3 GiB') && document.querySelector('#disk-7').open && document.querySelector('#disk-8') === eighth`)
}

// Ten thousand entries are kept and searched, but not drawn.
func testLongJournal(t *testing.T, chromium *browser) {
	s := serve(t, testnode.ShortDir(t), "-ui=127.0.0.1:0")
	b := chromium.open(t, s.url)
	b.until(`document.querySelectorAll('.disk').length === 3`)
	b.eval(`take(Array.from({length: 12000}, (_, i) => ({sequence: String(100000 + i), begin: '2026-01-31T12:00:00Z', duration: '0.001s', requestId: 'r' + (i >> 2),
		...(i % 4 < 3 ? {kernel: {function: 'OpenFile', object: 'C:\\' + i}} : {api: {method: '/v1.Volume/MountVolume', request: '{}', code: 'OK'}})})))`, nil)
	var got struct{ Rows, Entries, Calls int }
	b.eval(`({rows: document.querySelectorAll('#journal details').length, entries, calls: calls.length})`, &got)
	if got.Rows != 200 || got.Entries > 10000 || got.Entries < 9990 || got.Calls < 2490 {
		t.Errorf("got %+v", got)
	}
	b.fill(`document.getElementById('filter')`, `c:\11998`)
	b.until(`document.querySelectorAll('#journal details').length === 1`)
	b.fill(`document.getElementById('filter')`, `openfile`)
	b.until(`document.querySelectorAll('#journal details').length === 200`)
	b.click(`document.getElementById('older')`)
	b.until(`document.querySelectorAll('#journal details').length === 400`)
}

// When the agent is started again, the page goes on with it.
func testAgentStartsAgain(t *testing.T, chromium *browser) {
	s := serve(t, testnode.ShortDir(t), "-ui=127.0.0.1:0")
	b := chromium.open(t, s.url)
	b.until(`document.querySelectorAll('.disk').length === 3`)
	var before string
	b.eval(`agent`, &before)
	s.Kill()
	b.until(`document.getElementById('message').textContent.includes('does not answer')`)
	serve(t, s.state, "-ui="+strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/"))
	b.until(fmt.Sprintf(`agent && agent !== %q && document.querySelectorAll('.disk').length === 3`, before))
}
