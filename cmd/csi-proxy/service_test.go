// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/app"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
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
		// As when the rest of the command line is wrong.
		if got := newOptions().asService(strings.Fields(test.args), errors.New("wrong")); got != test.want {
			t.Errorf("%q: got %v, want %v", test.args, got, test.want)
		}
	}
	if got := newOptions().asService([]string{"-windows-service"}, nil); got {
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
		{"others", []string{"-v=4", "-api", "iscsi=off"},
			[]string{"-windows-service", log, stderr, "-v=4", "-api", "iscsi=off"}},
		{"a log file", []string{"--log_file=C:\\x.log", stderr},
			[]string{"-windows-service", "--log_file=C:\\x.log", stderr}},
		{"a log directory", []string{"-log_dir", `C:\logs`}, []string{"-windows-service", "-log_dir", `C:\logs`}},
		{"the flag of services", []string{"--windows-service", "-logtostderr"},
			[]string{"--windows-service", "-logtostderr"}},
	} {
		if diff := cmp.Diff(test.want, agentFlags(test.given)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestTheServiceThatACommandIsAbout(t *testing.T) {
	installed := func(name string) winservice.Installed {
		return winservice.Installed{Definition: winservice.Definition{Name: name}}
	}
	aks, original := installed("csi-proxy"), installed("csiproxy")
	for _, test := range []struct {
		given  string
		agents []winservice.Installed
		want   string // empty: an error
	}{
		{"", nil, "csiproxy"},
		{"", []winservice.Installed{aks}, "csi-proxy"},
		{"mine", []winservice.Installed{aks}, "mine"},
		{"csiproxy", []winservice.Installed{aks, original}, "csiproxy"},
		{"", []winservice.Installed{aks, original}, ""},
	} {
		if got, err := choose(test.given, test.agents); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("-name=%s with %v: got %q, %v", test.given, test.agents, got, err)
		}
	}
}

func TestBeforeDashes(t *testing.T) {
	for args, want := range map[string]int{"": 0, "-start": 1, "-start -- -v=2 -- x": 1, "-- -start": 0} {
		if got := beforeDashes(strings.Fields(args)); got != want {
			t.Errorf("%q: got %d, want %d", args, got, want)
		}
	}
}

// The directories of a service's logs, or why it cannot have such logs.
func TestLogsOfAService(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a", "file"), filepath.Join(dir, "b", "file")
	dirA, dirB := filepath.Dir(a), filepath.Dir(b)
	for _, test := range []struct {
		name  string
		log   app.LogFlags
		audit string
		dirs  []string
		err   string
	}{
		{"none", app.LogFlags{ToStderr: true, File: a}, "", nil, ""},
		{"one each", app.LogFlags{File: a, Dir: dirB}, b, []string{dirA, dirB}, ""},
		{"the same for both", app.LogFlags{Dir: dirA}, a, []string{dirA}, ""},
		{"no log file", app.LogFlags{ToStderr: true}, b, []string{dirB}, ""},
		{"a relative audit log", app.LogFlags{File: a}, "audit.log", []string{dirA, "."},
			"-audit-log=audit.log is relative, and a service has no directory of its own"},
		{"a log for nowhere", app.LogFlags{}, "", []string{""},
			"-logtostderr=false alone logs to the directory for temporary files"},
	} {
		o := &options{Options: &app.Options{Log: test.log, Audit: app.AuditFlags{File: test.audit}}}
		if diff := cmp.Diff(test.dirs, o.logDirs()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		err := o.checkService()
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.err)
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
	serviceCommand{stdout: &out}.warn(dir, path)
	if !strings.Contains(out.String(), "warning: the service writes there as SYSTEM: "+path+" is a link; give the path") {
		t.Errorf("got %q", out.String())
	}
}
