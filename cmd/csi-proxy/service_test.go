// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAsService(t *testing.T) {
	for _, test := range []struct {
		args string
		want bool
	}{
		{"-windows-service", true},
		{"--windows-service=true -v=2", true},
		{"-v=2 -windows-service=1", true},
		{"-windows-service=false", false},
		{"-working-dir windows-service", false},
		{"", false},
	} {
		// Without options, as when the rest of the command line is wrong.
		if got := asService(nil, strings.Fields(test.args)); got != test.want {
			t.Errorf("%q: got %v, want %v", test.args, got, test.want)
		}
	}
	if got := asService(&options{}, []string{"-windows-service"}); got {
		t.Error("parsed flags are ignored")
	}
}

// With the flags that csi-proxy service install adds, the service is the one of the documented sc.exe lines.
func TestAgentFlags(t *testing.T) {
	const log, stderr = `-log_file=\etc\kubernetes\logs\csi-proxy.log`, "-logtostderr=false"
	for _, test := range []struct {
		name        string
		given, want []string
	}{
		{"none", nil, []string{"-windows-service", log, stderr}},
		{"others", []string{"-v=4", "-api", "iscsi=off"}, []string{"-windows-service", log, stderr, "-v=4", "-api", "iscsi=off"}},
		{"a log file", []string{"--log_file=C:\\x.log", stderr}, []string{"-windows-service", "--log_file=C:\\x.log", stderr}},
		{"a log directory", []string{"-log_dir", `C:\logs`}, []string{"-windows-service", "-log_dir", `C:\logs`}},
		{"the flag of services", []string{"--windows-service", "-logtostderr"}, []string{"--windows-service", "-logtostderr"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, agentFlags(test.given)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBeforeDashes(t *testing.T) {
	for args, want := range map[string]int{"": 0, "-start": 1, "-start -- -v=2 -- x": 1, "-- -start": 0} {
		if got := beforeDashes(strings.Fields(args)); got != want {
			t.Errorf("%q: got %d, want %d", args, got, want)
		}
	}
}

func TestWhatAServiceCannotHave(t *testing.T) {
	full := filepath.Join(t.TempDir(), "file")
	for _, test := range []struct {
		name string
		o    options
		want string // in the error; empty: none
	}{
		{"standard error", options{log: logFlags{toStderr: true}}, ""},
		{"full paths", options{log: logFlags{file: full}, audit: auditFlags{file: full}, readyFile: readyFile(full)}, ""},
		{"a log directory", options{log: logFlags{dir: full}}, ""},
		{"a relative audit log", options{log: logFlags{file: full}, audit: auditFlags{file: "audit.log"}}, "-audit-log=audit.log is relative, and a service has no directory of its own"},
		{"a relative ready file", options{log: logFlags{file: full}, readyFile: "logs/ready"}, "-ready-file=logs/ready is relative"},
		{"a log for nowhere", options{}, "-logtostderr=false alone logs to the directory for temporary files"},
	} {
		t.Run(test.name, func(t *testing.T) {
			switch err := test.o.checkService(); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestDirectories(t *testing.T) {
	a, b, c := filepath.Join("a", "file"), filepath.Join("b", "file"), filepath.Join("c", "file")
	for _, test := range []struct {
		name  string
		o     options
		logs  []string
		ready string
	}{
		{"none", options{log: logFlags{toStderr: true, file: a}}, nil, ""},
		{"one each", options{log: logFlags{file: a, dir: b}, audit: auditFlags{file: b}, readyFile: readyFile(c)}, []string{"a", "b"}, "c"},
		{"the same for all", options{log: logFlags{dir: "a"}, audit: auditFlags{file: a}, readyFile: readyFile(a)}, []string{"a"}, ""},
		{"no log file", options{log: logFlags{toStderr: true}, audit: auditFlags{file: b}}, []string{"b"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			logs, ready := test.o.directories()
			if diff := cmp.Diff(test.logs, logs); diff != "" || ready != test.ready {
				t.Errorf("got a ready file in %q, want %q; logs: %s", ready, test.ready, diff)
			}
		})
	}
}

// A service that "sc privs" has limited tells which of the agent's privileges it lost.
func TestALimitedService(t *testing.T) {
	for _, test := range []struct {
		limit string
		want  string
	}{
		{"", ""},
		{"SeCreateSymbolicLinkPrivilege SeLoadDriverPrivilege SeManageVolumePrivilege SeBackupPrivilege", ""},
		{
			"SeChangeNotifyPrivilege seloaddriverprivilege",
			"warning: csiproxy is limited to certain privileges, and lacks SeCreateSymbolicLinkPrivilege for links: CreateSymlink, and NewSmbGlobalMapping with a local path\n" +
				"warning: csiproxy is limited to certain privileges, and lacks SeManageVolumePrivilege for growing volumes: ResizeVolume\n" +
				"warning: to allow them: sc privs csiproxy SeChangeNotifyPrivilege/seloaddriverprivilege/SeCreateSymbolicLinkPrivilege/SeManageVolumePrivilege\n",
		},
	} {
		var out bytes.Buffer
		serviceCommand{stdout: &out}.warnOfPrivileges(strings.Fields(test.limit))
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("%q: %s", test.limit, diff)
		}
	}
}

func TestADirectoryThatIsALinkIsReported(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "logs")
	err := os.Symlink(dir, path)
	if err == nil {
		_, err = os.Lstat(path) // Wine makes none and reports success
	}
	if err != nil {
		t.Skipf("require a symbolic link: %v", err)
	}
	var out bytes.Buffer
	serviceCommand{stdout: &out}.warnOfLinks("", dir, path, filepath.Join(dir, "missing"))
	if diff := cmp.Diff("warning: "+path+" is a link or another reparse point: the service writes where it leads; give that path instead\n", out.String()); diff != "" {
		t.Error(diff)
	}
}
