// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// ctl runs csi-proxyctl and returns its output.
func ctl(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testnode.Command(t, "csi-proxyctl"), args...).CombinedOutput()
	return string(out), err
}

func mustSay(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, want %q in it", text, part)
		}
	}
}

func TestCtlControlsTheEmulatedNodeThroughItsPipe(t *testing.T) {
	testnode.LaunchEmulated(t, "-state-dir="+filepath.Join(t.TempDir(), "node"))
	for _, step := range []struct {
		args []string
		want []string // in the output
	}{
		{[]string{"apis"}, []string{`\\.\pipe\csi-proxy-disk-v1`, `\\.\pipe\csi-proxy-volume-v2alpha1`}},
		{[]string{"node", "disk", "attach", "--size", "1Gi", "--serial", "attached-here"}, []string{"3"}},
		{[]string{"tree"}, []string{"Disk 3", "attached-here", `C:\`}},
		{[]string{"disk", "list"}, []string{"attached-here"}},
		{[]string{"volume", "list", "0", "-o", "json"}, []string{`"\\\\?\\Volume{`}},
		{[]string{"disk", "partition", "3", "--yes"}, nil},
		{[]string{"fs", "mkdir", `C:\var\lib\kubelet\pods\made`}, nil},
		{[]string{"fs", "exists", `C:\var\lib\kubelet\pods\made`, "-o", "yaml"}, []string{"exists: true"}},
		{[]string{"doctor"}, []string{"Nothing is wrong"}},
		{[]string{"node", "reboot"}, nil},
		{[]string{"tree"}, []string{"Disk 3", "attached-here"}},
	} {
		out, err := ctl(t, step.args...)
		if err != nil {
			t.Fatalf("csi-proxyctl %s: %v: %s", strings.Join(step.args, " "), err, out)
		}
		mustSay(t, out, step.want...)
	}
	// A path of the node leads to files of this machine, which a driver under test reads and writes.
	out, err := ctl(t, "node", "path", `C:\var\lib\kubelet`)
	if err != nil || !filepath.IsAbs(strings.TrimSpace(out)) {
		t.Errorf("the path of kubelet's directory is %q, %v", out, err)
	}
	if out, err := ctl(t, "--socket-dir", `C:\run`, "apis"); err == nil {
		t.Errorf("a socket directory is accepted: %s", out)
	} else {
		mustSay(t, out, "no socket directory on Windows", "leave --socket-dir out")
	}
}

func TestCtlWithoutAnAgent(t *testing.T) {
	out, err := ctl(t, "apis")
	if err == nil {
		t.Fatalf("got %s", out)
	}
	mustSay(t, out, "no agent is running", `\\.\pipe\csiproxy-admin`)
	if strings.Contains(out, "socket") {
		t.Errorf("it mentions sockets on Windows: %s", out)
	}
}

func TestSecondAgentNamesTheRunningOne(t *testing.T) {
	first := testnode.Launch(t)
	code, text := fails(t, "csi-proxy-emulated", "-state-dir="+t.TempDir())
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	mustSay(t, text, `\\.\pipe\csi-proxy-`, fmt.Sprintf("served by pid %d", first.Command.Process.Pid), "csi-proxy.exe")
	// A name belongs to the process that takes it first, until that process ends.
	first.Kill()
	testnode.LaunchEmulated(t, "-state-dir="+t.TempDir())
}

func TestFlagsOfTheEndpoints(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program string
		args    []string
		want    []string
	}{
		{"prose for a security descriptor", "csi-proxy", []string{"-pipe-security=administrators"},
			[]string{"-pipe-security", `"administrators"`, "SDDL"}},
		{"an empty one", "csi-proxy", []string{"-pipe-security="}, []string{"-pipe-security", "no access control list"}},
		{"one that lets everybody in", "csi-proxy", []string{"-pipe-security=O:SYG:SY"},
			[]string{"-pipe-security", "let everybody in"}},
		{"a socket directory", "csi-proxy-emulated", []string{`-state-dir=C:\x`, `-socket-dir=C:\x\run`},
			[]string{"-socket-dir", "named pipes"}},
		{"no state directory", "csi-proxy-emulated", nil, []string{"-state-dir=DIR is required"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, text := fails(t, tt.program, tt.args...)
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			mustSay(t, text, tt.want...)
		})
	}
}

// TestPipeSecurity reads the pipes' security. Users in containers may open the API's pipes and not the admin endpoint.
func TestPipeSecurity(t *testing.T) {
	const more = transport.Administrators + "(A;;GRGW;;;S-1-5-93-2-2)"
	testnode.Launch(t, "-pipe-security="+more)
	for name, want := range map[string]string{"csi-proxy-disk-v1": more, "csi-proxy-system-v1alpha1": more,
		"csiproxy-admin": transport.Administrators} {
		if got := security(t, `\\.\pipe\`+name); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

// security returns the access control list of a pipe, in SDDL with generic rights: Windows has mapped them, Wine has
// not.
func security(t *testing.T, path string) string {
	t.Helper()
	c, err := winio.DialPipeContext(t.Context(), path)
	caller.OK(t, err)
	defer c.Close()
	h := windows.Handle(c.(interface{ Fd() uintptr }).Fd())
	d, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	caller.OK(t, err)
	return strings.NewReplacer("FA", "GA", "FRFW", "GRGW", "0x12019f", "GRGW", "GWGR", "GRGW").Replace(d.String())
}

// TestAuditLineNamesTheClient makes a call from this process.
func TestAuditLineNamesTheClient(t *testing.T) {
	a := testnode.Launch(t, "-v=2")
	if out, err := ctl(t, "apis"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a.Kill()
	line := regexp.MustCompile(`"call served".* client="pid [0-9]+ [^"]*csi-proxyctl.exe"`)
	if log := a.Logged(); !line.MatchString(log) {
		t.Errorf("no line of the log names csi-proxyctl and its process:\n%s", log)
	}
}
