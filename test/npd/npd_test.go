// SPDX-License-Identifier: Apache-2.0

//go:build unix

package npd

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func TestMain(m *testing.M) { os.Exit(testnode.Main(m)) }

// configuration is what the test reads of node-problem-detector's custom plugins.
type configuration struct {
	Conditions []struct{ Type, Reason, Message string }
	Rules      []struct {
		Type, Condition, Reason, Path string
		Args                          []string
	}
}

func read(t *testing.T) (text string, c configuration) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "deploy", "npd", "csi-proxy.json"))
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(content), c
}

// TestConfiguration: each reason that can be a problem is in one rule. A condition has one rule: node-problem-detector
// takes a condition back when any of its rules finds nothing.
func TestConfiguration(t *testing.T) {
	_, c := read(t)
	var conditions, ofRules, reasons []string
	for _, condition := range c.Conditions {
		conditions = append(conditions, condition.Type)
	}
	for _, rule := range c.Rules {
		ofRules = append(ofRules, rule.Condition)
		if rule.Type != "permanent" || rule.Path != `C:\Program Files\csi-proxy\csi-proxyctl.exe` {
			t.Errorf("rule of %s: type %s, path %s", rule.Condition, rule.Type, rule.Path)
		}
		for _, arg := range rule.Args {
			if list, is := strings.CutPrefix(arg, "--reason="); is {
				reasons = append(reasons, strings.Split(list, ",")...)
			}
		}
	}
	if !slices.Equal(conditions, ofRules) {
		t.Errorf("conditions %q have rules %q", conditions, ofRules)
	}
	want, _ := doctor.Reasons()
	slices.Sort(want)
	slices.Sort(reasons)
	if !slices.Equal(reasons, want) {
		t.Errorf("the rules have the reasons %q, want %q", reasons, want)
	}
}

// TestNodeProblemDetector pulls a disk out from under a mount, and attaches it again.
func TestNodeProblemDetector(t *testing.T) {
	program := os.Getenv("CSI_PROXY_NPD")
	if program == "" {
		t.Skip("make check-npd builds node-problem-detector and runs this")
	}
	state := testnode.ShortDir(t)
	testnode.LaunchEmulated(t, "-state-dir="+state)
	t.Setenv("CSI_PROXY_SOCKET_DIR", filepath.Join(state, "run"))
	ctl := testnode.Command(t, "csi-proxyctl")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), ctl, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("csi-proxyctl %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("disk", "partition", "1", "--yes")
	volume := run("volume", "list", "1", "-o", "name")
	run("volume", "format", volume, "--yes")
	run("volume", "mount", volume, `C:\var\lib\kubelet\pods\uid\volumes\kubernetes.io~csi\pv\mount`)
	run("system", "service", "start", "MSiSCSI")

	d := start(t, program, ctl)
	d.until(`Initialized conditions`)
	run("node", "disk", "detach", "1")
	d.until(`Node condition CSIDiskGone is now: True, reason: CSIDiskGone, ` +
		`message: "DanglingMountPoint: the disk of a mounted volume is gone"`)
	run("node", "disk", "attach", "--bundle", run("node", "disk", "detached", "-o", "name"))
	d.until(`Node condition CSIDiskGone is now: False, reason: NoDiskGone, ` +
		`message: "the disk of each mounted volume is there"`)
	for _, condition := range []string{"CSIProxyUnavailable", "CSIDiskUnusable", "CSIShareUnusable"} {
		if strings.Contains(d.seen, "Node condition "+condition+" is now") {
			t.Errorf("%s changed:\n%s", condition, d.seen)
		}
	}
	run("node", "fault", "add", "--function", "DiskInterfaces", "--hang")
	d.until(`Node condition CSIDiskUnusable is now: Unknown, reason: DisksUsable, message: "not known: `)
	run("node", "fault", "remove", "--all")
	d.until(`Node condition CSIDiskUnusable is now: False`)
}

// A detector is a running node-problem-detector.
type detector struct {
	t    *testing.T
	log  *bufio.Scanner
	seen string
}

// start runs node-problem-detector with the plugin's configuration, but for the program's path and the times.
func start(t *testing.T, program, ctl string) *detector {
	t.Helper()
	text, _ := read(t)
	for old, changed := range map[string]string{
		`C:\\Program Files\\csi-proxy\\csi-proxyctl.exe`: ctl, `"invoke_interval": "2m"`: `"invoke_interval": "1s"`,
		`--timeout=50s`: `--timeout=5s`,
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("the configuration has no %s", old)
		}
		text = strings.ReplaceAll(text, old, changed)
	}
	file := filepath.Join(t.TempDir(), "csi-proxy.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// It does not start without an exporter; only for metrics it needs no API server.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	c := exec.CommandContext(ctx, program, "--enable-k8s-exporter=false", "--port=0", "--prometheus-port="+port,
		"--config.custom-plugin-monitor="+file)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	log, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = c.Wait() })
	return &detector{t: t, log: bufio.NewScanner(log)}
}

// until reads the log until a line has the text.
func (d *detector) until(text string) {
	d.t.Helper()
	for d.log.Scan() {
		d.seen += d.log.Text() + "\n"
		if strings.Contains(d.log.Text(), text) {
			d.t.Log(d.log.Text())
			return
		}
	}
	d.t.Fatalf("node-problem-detector ended before it said %s:\n%s", text, d.seen)
}
