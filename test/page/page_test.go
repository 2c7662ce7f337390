// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }

const staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ebs.csi.aws.com\5f1c\globalmount`

// served is an agent with a page, as a user starts it, and a driver's client.
type served struct {
	*testnode.Process
	state, url string
	driver     *csiproxy.Client
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
	return &served{p, state, url[1], driver}
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
	t.Run("other site", func(t *testing.T) { testOtherSite(t, b) })
}

// A user attaches a disk, watches a driver's volume come, breaks a call, sees it in the journal, and takes the disk
// away.
func testVolumeLife(t *testing.T, chromium *browser) {
	s := serve(t, testnode.ShortDir(t), "-ui=127.0.0.1:0")
	b := chromium.open(t, s.url)
	b.until(`document.querySelectorAll('.disk').length === 3`)

	b.fill(`document.forms.attach.elements.serial`, "vol0123456789abcdef3")
	b.click(named("#attach", "Attach"))
	b.until(`document.querySelector('#disk-3').textContent.includes('vol0123456789abcdef3')`)
	if err := s.stage(t, 3, staging); err != nil {
		t.Fatal(err)
	}
	b.until(fmt.Sprintf(`document.querySelector('#disk-3 .mount').textContent.includes(%q)`, staging))

	b.fill(`document.forms.fault.elements.name`, "SetVolumeMountPoint")
	b.click(named("#fault", "Add"))
	b.until(`document.querySelector('#faults [data-fault="1"]').textContent.includes('ERROR_NOT_READY')`)
	if err := s.stage(t, 1, staging+"-1"); err == nil {
		t.Error("the fault did not take effect")
	}
	b.until(`document.querySelector('#journal details').textContent.includes('MountVolume')`)
	b.click(`document.querySelector('#journal summary')`)
	b.until(`document.querySelector('#journal details[open]').textContent.includes('Unavailable')`)
	b.until(`[...document.querySelectorAll('#journal details[open] .kernel')].some(k => k.textContent.startsWith('SetVolumeMountPoint') && k.textContent.includes('ERROR_NOT_READY'))`)
	b.until(`document.querySelectorAll('#faults [data-fault]').length === 0`) // it was for one call
	b.fill(`document.forms.fault.elements.name`, "FormatVolume")
	b.click(named("#fault", "Add"))
	b.until(`document.querySelectorAll('#faults [data-fault]').length === 1`)
	if screenshot := os.Getenv("CSI_PROXY_SCREENSHOT"); screenshot != "" {
		b.picture(screenshot)
	}
	b.click(named("#faults", "Remove"))
	b.until(`document.querySelectorAll('#faults [data-fault]').length === 0`)
	b.click(named("#journal details[open] .kernel:last-child", "break it"))
	b.until(`document.forms.fault.elements.name.value === 'SetVolumeMountPoint'`)

	b.fill(`document.querySelector('#disk-3 input')`, "30")
	b.click(named("#disk-3", "Grow"))
	b.until(`document.querySelector('#disk-3').textContent.includes('Disk 330 GiB')`)
	b.click(named(`[data-server="fs.emulated"]`, "Stop"))
	b.until(`document.querySelector('[data-server="fs.emulated"]').textContent.includes('stopped')`)
	b.eval(`window.asked = [], window.confirm = q => { asked.push(q); return true }`, nil)
	b.click(`document.getElementById('reboot')`)
	b.until(`document.querySelector('#journal details').textContent.includes('EmulatedNode/Reboot')`)
	b.click(named("#disk-3", "Detach"))
	b.until(`document.querySelector('#disk-3') === null`)
	b.until(`asked.join() === 'Reboot the node?,Detach disk 3, whatever uses it?'`)
	b.until(`document.getElementById('findings-section').textContent.includes('globalmount')`)
	b.until(`document.getElementById('remote').textContent.includes('leads nowhere')`)
	b.click(named("#detached", "Attach again"))
	b.until(`document.querySelector('#disk-3').textContent.includes('vol0123456789abcdef3') && document.getElementById('detached').textContent === ''`)
	b.click(named("#disk-3", "Detach"))
	b.until(`document.querySelector('#disk-3') === null`)

	b.fill(`document.getElementById('filter')`, "setvolumemountpoint")
	b.until(`document.querySelectorAll('#journal details').length === 3`) // two mounts and a fault
	b.click(`document.getElementById('failed')`)
	b.until(`document.querySelectorAll('#journal details').length === 1`)

	b.fill(`document.forms.attach.elements.serial`, "<img src=x>")
	b.click(named("#attach", "Attach"))
	b.until(`document.querySelector('#disk-3').textContent.includes('<img src=x>')`)
	var images int
	b.eval(`document.querySelectorAll('img').length`, &images)
	if images != 0 {
		t.Error("what the node says has become markup")
	}
}

// Two hundred disks are folded, can be filtered, and keep what is being typed while others change.
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
	b.fill(`document.querySelector('#disk-7 input')`, "99")
	b.eval(`document.querySelector('#disk-7 input').focus(); shownStorage(made(3))`, nil)
	b.until(`document.querySelector('#disk-7').textContent.includes('3 GiB') && document.querySelector('#disk-7 input').value === '99' && document.activeElement === document.querySelector('#disk-7 input')`)
	b.click(`document.getElementById('copy')`)
	b.click(named("#disk-7", "Detach"))
	b.until(`document.getElementById('message').textContent === 'csi-proxyctl node disk detach 7'`)
	b.until(`commandLine("x", "a'; rm") === "x NAME" && commandLine("x", "C:\\a") === "x 'C:\\a'" && commandLine("x", "fs.emulated") === "x fs.emulated"`)
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
	b.eval(`token`, &before)
	s.Kill()
	b.until(`document.getElementById('message').textContent.includes('does not answer')`)
	serve(t, s.state, "-ui="+strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/"), "-ui-read-only")
	b.until(fmt.Sprintf(`token !== %q && document.querySelectorAll('.disk').length === 3`, before))
	b.until(`!document.getElementById('mode').hidden && [...document.querySelectorAll('button')].every(b => b.disabled || b.id === 'older')`)
}

// A page of another site, in the same browser, cannot change the node, read it or frame its page.
func testOtherSite(t *testing.T, chromium *browser) {
	s := serve(t, testnode.ShortDir(t), "-ui=127.0.0.1:0")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	evil := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><title>evil</title><iframe src=%q></iframe>`, s.url)
	})}
	go func() { _ = evil.Serve(l) }()
	t.Cleanup(func() { _ = evil.Close() })
	b := chromium.open(t, "http://"+l.Addr().String())
	b.until(`document.title === 'evil' && document.readyState === 'complete'`)
	var got []string
	b.eval(fmt.Sprintf(`Promise.all([
		fetch(%[1]q).then(r => r.text(), e => 'refused'),
		fetch(%[1]q + 'call/Reboot', {method: 'POST', body: '{}'}).then(r => r.text(), e => 'refused'),
		fetch(%[1]q + 'call/Reboot', {method: 'POST', body: '{}', headers: {'X-CSI-Proxy-Token': 'x'}}).then(r => r.text(), e => 'refused'),
		fetch(%[1]q + 'call/Reboot', {method: 'POST', body: '{}', mode: 'no-cors'}).then(r => r.type, e => 'refused'),
	])`, s.url), &got)
	if text := strings.Join(got, " "); text != "refused refused refused opaque" &&
		text != "refused refused refused refused" {
		t.Errorf("got %q", got)
	}
	var frames struct {
		FrameTree struct {
			ChildFrames []struct {
				Frame struct{ URL, UnreachableURL string }
			}
		}
	}
	b.call("Page.getFrameTree", nil, &frames)
	for _, f := range frames.FrameTree.ChildFrames {
		if f.Frame.UnreachableURL == "" && strings.HasPrefix(f.Frame.URL, s.url) {
			t.Errorf("the page is framed: %+v", f)
		}
	}
	b.visit(s.url)
	b.until(`document.querySelectorAll('.disk').length === 3`)
	var text string
	b.eval(`document.body.innerText`, &text)
	if strings.Contains(text, "Reboot {}") || strings.Contains(text, "EmulatedNode/Reboot") {
		t.Errorf("the node was rebooted:\n%s", text)
	}
}
