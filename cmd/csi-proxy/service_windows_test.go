// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystemclient "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// TestMain runs the command itself when it is called as such, because the service that the tests install is this
// program.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) { // copies; see TestMovingAServiceAndBack
	case "nssm.exe", "wrapper.exe":
		os.Exit(wrapper())
	case "csi-proxy.exe":
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && (os.Args[1] == "service" || isFlag(os.Args[1], "windows-service")) {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// csiProxy runs the command and returns what it prints, after checking its exit code.
func csiProxy(t *testing.T, wantCode int, args ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command(t, wantCode, program, args...)
}

func command(t *testing.T, wantCode int, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != wantCode {
		t.Fatalf("%s %q: exit code %d, want %d:\n%s", filepath.Base(program), args, code, wantCode, out)
	}
	return string(out)
}

func wantText(t *testing.T, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("got %q, want a match of %q", got, pattern)
	}
}

// requireServices skips the test where a service cannot or should not be installed.
func requireServices(t *testing.T) winservice.Manager {
	t.Helper()
	if !onWine() && os.Getenv("CSI_PROXY_TEST_SERVICE") == "" {
		t.Skip("require CSI_PROXY_TEST_SERVICE: this installs and removes the service csiproxy of this machine")
	}
	scm, err := winservice.Connect()
	if err != nil {
		t.Skipf("require a Service Control Manager: %v", err)
	}
	t.Cleanup(func() { _ = scm.Close() })
	if _, err := scm.Query(serviceName); !errors.Is(err, winservice.ErrNotInstalled) {
		t.Fatalf("the service %s already exists: %v", serviceName, err)
	}
	t.Cleanup(func() {
		waitCtx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := winservice.Uninstall(waitCtx, scm, serviceName); err != nil {
			t.Error(err)
		}
	})
	return scm
}

// callService calls the service over its pipe, as a driver does.
func callService(t *testing.T) {
	t.Helper()
	if err := tryService(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func tryService(ctx context.Context) error {
	client, err := filesystemclient.NewClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	waitCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = client.PathExists(waitCtx, &v1.PathExistsRequest{Path: node.KubeletDir})
	return err
}

// onWine reports whether this is Wine, which has this function, and not Windows.
func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

func hasEventSource() bool {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE,
		`SYSTEM\CurrentControlSet\Services\EventLog\Application\`+serviceName, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	_ = key.Close()
	return true
}

func TestTheServiceFromInstallToUninstall(t *testing.T) {
	scm := requireServices(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "logs of the agent", "csi-proxy.log")
	install := []string{"service", "install", "-start", "--", "-logtostderr=false", "-log_file=" + log}

	wantText(t, csiProxy(t, exitNotInstalled, "service", "status"), "csiproxy is not installed")
	wantText(t, csiProxy(t, app.ExitUsage, "service", "install", "--", "-no-such-flag"),
		"the agent would not start: flag provided but not defined: -no-such-flag")
	wantText(t, csiProxy(t, app.ExitUsage, "service", "install", "--", "-log_file=here.log", "-logtostderr=false"),
		"-log_file=here.log is relative")
	if _, err := scm.Query(serviceName); !errors.Is(err, winservice.ErrNotInstalled) {
		t.Fatalf("bad flags were installed: %v", err)
	}

	wantText(t, csiProxy(t, app.ExitOK, install...), "(?s)csiproxy is installed: .*csiproxy is running")
	callService(t)
	status := csiProxy(t, app.ExitOK, "service", "status")
	for _, pattern := range []string{
		`state +running`, `pid +[1-9]`, `start +automatic`, `account +LocalSystem`, `program +\S.*\.exe`,
		`argument +-windows-service\s`, `argument +` + regexp.QuoteMeta("-log_file="+log),
	} {
		wantText(t, status, pattern)
	}

	if !hasEventSource() {
		t.Error("no event source is registered")
	}

	before, err := scm.Query(serviceName)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, csiProxy(t, app.ExitOK, install...), "(?s)nothing changed.*csiproxy is running")
	after, err := scm.Query(serviceName)
	if err != nil || after.PID != before.PID {
		t.Errorf("installing it again made process %d of %d (%v), want the same", after.PID, before.PID, err)
	}
	wantText(t, csiProxy(t, app.ExitOK, append(install, "-v=4")...),
		"(?s)is changed:.*command: .* -v=4, was .*csiproxy is stopped.*csiproxy is running")
	callService(t)

	wantText(t, csiProxy(t, app.ExitOK, "service", "stop"), "csiproxy is stopped")
	status = csiProxy(t, exitStopped, "service", "status")
	wantText(t, status, `state +stopped`)
	wantText(t, status, `ended +Win32 exit code 0`)
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`Log file created at`, `"serving".*endpoints=24`, `"told to stop"`, `"stopped"`} {
		wantText(t, string(content), pattern)
	}

	wantText(t, csiProxy(t, app.ExitOK, "service", "uninstall"), "stopped and removed")
	wantText(t, csiProxy(t, app.ExitOK, "service", "uninstall"), "not installed; there is nothing to remove")
	if hasEventSource() {
		t.Error("the event source is still registered")
	}
	csiProxy(t, exitNotInstalled, "service", "status")
}

// A path without a drive is on C, and does not count as relative.
func TestPathsWithoutADrive(t *testing.T) {
	i, err := readInstallation(flag.NewFlagSet("", flag.ContinueOnError), []string{"--", `-log_file=\etc\logs\log`,
		"-logtostderr=false", `-audit-log=\etc\audit\log`})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`C:\etc\logs`, `C:\etc\audit`}, i.logs); diff != "" {
		t.Error(diff)
	}
}

// protect gives a directory an access list, and an owner if there is one in the text.
func protect(t *testing.T, dir, sddl string) {
	t.Helper()
	descriptor, err := windows.SecurityDescriptorFromString(sddl)
	if err != nil {
		t.Fatal(err)
	}
	owner, _, err := descriptor.Owner()
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := descriptor.DACL()
	if err != nil {
		t.Fatal(err)
	}
	what := windows.SECURITY_INFORMATION(windows.DACL_SECURITY_INFORMATION)
	if owner != nil {
		what |= windows.OWNER_SECURITY_INFORMATION
	}
	if err := windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, what, owner, nil, list, nil); err != nil {
		t.Fatal(err)
	}
}

const administrators = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"

// A program in a directory where others may add files, as Users may below a drive's root, does not become a service. The
// refusal's own command makes the directory right, but for one that holds other programs, too.
func TestInstallWhereOthersWrite(t *testing.T) {
	scm := requireServices(t)
	program := copyProgram(t, filepath.Join(t.TempDir(), "csi-proxy.exe"))
	protect(t, filepath.Dir(program), administrators+"(A;CI;0x4;;;WD)(A;CI;0x2;;;WD)")
	wantText(t, command(t, app.ExitFailed, program, "service", "install"), `as SYSTEM: .* can be changed by (.|\n)*`+
		`icacls ".*" /inheritance:r /grant:r "\*S-1-5-18:\(OI\)\(CI\)F" "\*S-1-5-32-544:\(OI\)\(CI\)F" `+
		`"\*S-1-5-32-545:\(OI\)\(CI\)RX" /remove:g .*"\*S-1-1-0"`)
	if _, err := scm.Query(serviceName); !errors.Is(err, winservice.ErrNotInstalled) {
		t.Errorf("it was installed: %v", err)
	}
	other := filepath.Join(filepath.Dir(program), "kubelet.exe")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refusal := command(t, app.ExitFailed, program, "service", "install")
	wantText(t, refusal, `can be changed by .*a directory of its own`)
	if strings.Contains(refusal, "icacls") {
		t.Errorf("the rights of other programs' directory would go: %s", refusal)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	protect(t, filepath.Dir(program), administrators)
	wantText(t, command(t, app.ExitOK, program, "service", "install"), "is installed")
}

// The directory for records is made with the service. A user's directory in its place is refused, with the commands that
// cure it.
func TestInstallMakesTheDirectoryForRecords(t *testing.T) {
	scm := requireServices(t)
	t.Setenv("ProgramData", t.TempDir())
	base := filepath.Join(os.Getenv("ProgramData"), "csi-proxy")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	protect(t, base, "O:"+user.User.Sid.String()+administrators+"(A;CI;0x4;;;WD)(A;CI;0x2;;;WD)")
	wantText(t, csiProxy(t, app.ExitFailed, "service", "install"), regexp.QuoteMeta(base)+` can be changed by (.|\n)*`+
		`icacls ".*csi-proxy" /setowner "\*S-1-5-32-544"(.|\n)*`+
		`icacls ".*csi-proxy" /inheritance:r /grant:r "\*S-1-5-18:\(OI\)\(CI\)F" "\*S-1-5-32-544:\(OI\)\(CI\)F" `+
		`/remove:g .*"\*S-1-1-0"`)
	if _, err := scm.Query(serviceName); !errors.Is(err, winservice.ErrNotInstalled) {
		t.Errorf("it was installed: %v", err)
	}
	protect(t, base, "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
	wantText(t, csiProxy(t, app.ExitOK, "service", "install"), "is installed")
	if info, err := os.Stat(filepath.Join(base, "shares")); err != nil || !info.IsDir() {
		t.Errorf("the directory for records is missing: %v", err)
	}
}

// An error in the command line, or at the start, reaches the Service Control Manager as an exit code, because a
// service's standard error is lost.
func TestAServiceThatCannotStart(t *testing.T) {
	scm := requireServices(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "csi-proxy.log")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		flags []string
		log   string // part of the log file; empty: there can be none
	}{
		{"a bad flag", []string{"-windows-service", "-no-such-flag"}, ""},
		{"the audit log's directory is a file", []string{"-windows-service", "-audit-log=" + filepath.Join(file, "audit.log"),
			"-logtostderr=false", "-log_file=" + log}, "the service failed"},
		{"the log's directory is a file",
			[]string{"-windows-service", "-logtostderr=false", "-log_file=" + filepath.Join(file, "csi-proxy.log")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := definition(serviceName, program, test.flags)
			d.Recovery = &winservice.Recovery{} // or Windows would start it again and again
			if _, err := winservice.Install(scm, d); err != nil {
				t.Fatal(err)
			}
			// Wine's StartService waits for the service to run, and sometimes fails when the service has already ended.
			wantText(t, csiProxy(t, app.ExitFailed, "service", "start"),
				"csiproxy stopped again, with exit code 1 of its own; the Event Log|StartService csiproxy: Service request timeout")
			wantText(t, csiProxy(t, exitStopped, "service", "status"), "ended +exit code 1 of its own")
			if test.log == "" {
				return
			}
			content, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			wantText(t, string(content), test.log)
		})
	}
}

// Runs after the others: while Wine starts up, its services.exe takes any process for the service that it waits for.
func TestAServiceFlagInAConsole(t *testing.T) {
	requireServices(t)
	wantText(t, csiProxy(t, app.ExitFailed, "-windows-service"),
		"-windows-service: this process was not started by the Windows Service Control Manager: install it with csi-proxy "+
			"service install")
	wantText(t, csiProxy(t, app.ExitUsage, "-windows-service", "-no-such-flag"),
		"flag provided but not defined: -no-such-flag")
}
