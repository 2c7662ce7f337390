// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

// readLogFlags reads flags as Parse does. When the test ends, klog has its old settings again.
func readLogFlags(t *testing.T, args ...string) (*LogFlags, error) {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	klog.InitFlags(flags)
	l := &LogFlags{program: "csi-proxy"}
	l.register(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return l, l.read(flags)
}

// messages returns the messages in a log file, with "header" for the lines that begin it.
func messages(t *testing.T, path string) (list []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		switch message := regexp.MustCompile(`\] "(.*?)"`).FindStringSubmatch(line); {
		case message != nil:
			list = append(list, message[1])
		case strings.HasPrefix(line, "Log file created at: "):
			list = append(list, "header")
		}
	}
	return list
}

func TestKlogFlags(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags string // DIR is a directory that does not exist yet
		want  map[string][]string
	}{
		{"standard error", "-stderrthreshold=FATAL", map[string][]string{}},
		{"a file has no effect on it", "-log_file=DIR/agent.log -log_dir=DIR", map[string][]string{}},
		{"a file", "-logtostderr=false -stderrthreshold=FATAL -log_file=DIR/agent.log", map[string][]string{
			"agent.log": {"header", "a fact", "a failure"},
		}},
		{"without its header", "-logtostderr=false -stderrthreshold=FATAL -log_file=DIR/agent.log -skip_log_headers",
			map[string][]string{
				"agent.log": {"a fact", "a failure"},
			}},
		{"a file wins over a directory",
			"-logtostderr=false -stderrthreshold=FATAL -log_file=DIR/agent.log -log_dir=DIR/other", map[string][]string{
				"agent.log": {"header", "a fact", "a failure"},
			}},
		{"a directory", "-logtostderr=false -stderrthreshold=FATAL -log_dir=DIR", map[string][]string{
			"csi-proxy.INFO.log": {"header", "a fact", "a failure"}, "csi-proxy.WARNING.log": {"header", "a failure"},
			"csi-proxy.ERROR.log": {"header", "a failure"},
		}},
		{"each severity for itself", "-logtostderr=false -stderrthreshold=FATAL -log_dir=DIR -one_output",
			map[string][]string{
				"csi-proxy.INFO.log": {"header", "a fact"}, "csi-proxy.WARNING.log": {"header"},
				"csi-proxy.ERROR.log": {"header", "a failure"},
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "logs", "deep")
			l, err := readLogFlags(t, strings.Fields(strings.ReplaceAll(test.flags, "DIR", filepath.ToSlash(dir)))...)
			if err != nil {
				t.Fatal(err)
			}
			closeLog, err := l.Open()
			if err != nil {
				t.Fatal(err)
			}
			klog.Background().Info("a fact")
			klog.Background().Error(errors.New("broken"), "a failure")
			closeLog()
			got := map[string][]string{}
			entries, err := os.ReadDir(dir)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for _, entry := range entries {
				got[entry.Name()] = messages(t, filepath.Join(dir, entry.Name()))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLogRotationFollowsItsFlags(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.log")
	l, err := readLogFlags(t, "-logtostderr=false", "-stderrthreshold=FATAL", "-log_file="+path, "-log_file_max_size=1",
		"-log_file_backups=2", "-log_file_every=0")
	if err != nil {
		t.Fatal(err)
	}
	closeLog, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		klog.Background().Info("much", "text", strings.Repeat("x", megabyte*3/4))
	}
	closeLog()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("there are %v (%v), want the log and two old ones", entries, err)
	}
	for _, entry := range entries {
		if diff := cmp.Diff([]string{"header", "much"}, messages(t, filepath.Join(dir, entry.Name()))); diff != "" {
			t.Errorf("%s: %s", entry.Name(), diff)
		}
	}
}

// Logging the failure must not end the process, as klog does when it cannot open a file of its own.
func TestUnopenableLogIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := readLogFlags(t, "-logtostderr=false", "-log_file="+filepath.Join(file, "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Open(); err == nil || !strings.Contains(err.Error(), "log directory: ") ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want one that names %s", err, file)
	}
	klog.Background().Info("still alive")
}

func TestLogFlagsThatMakeNoSense(t *testing.T) {
	for flags, want := range map[string]string{
		"-log_file_every=-1h":                       "it must be positive",
		"-log_file_max_size=18446744073709551615":   "at most 1099511627776",
		"-log_file_backups_size=100000000000000000": "at most 1099511627776",
		"-log_file_backups=-1":                      "invalid value",
	} {
		if _, err := readLogFlags(t, flags); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", flags, err, want)
		}
	}
}

func TestLogPathOnDriveC(t *testing.T) {
	for _, test := range []struct{ path, system, want string }{
		{`\etc\kubernetes\logs\csi-proxy.log`, "windows", `C:\etc\kubernetes\logs\csi-proxy.log`},
		{`/etc/csi-proxy.log`, "windows", `C:/etc/csi-proxy.log`},
		{`D:\csi-proxy.log`, "windows", `D:\csi-proxy.log`},
		{`\\server\share\csi-proxy.log`, "windows", `\\server\share\csi-proxy.log`},
		{`\\?\C:\csi-proxy.log`, "windows", `\\?\C:\csi-proxy.log`},
		{`csi-proxy.log`, "windows", `csi-proxy.log`},
		{``, "windows", ``},
		{`/etc/csi-proxy.log`, "linux", `/etc/csi-proxy.log`},
	} {
		if got := onDriveC(test.path, test.system); got != test.want {
			t.Errorf("%s on %s: got %s, want %s", test.path, test.system, got, test.want)
		}
	}
}

// The test uses a hard link, the only kind that every system makes.
func TestLinkedLogIsRefused(t *testing.T) {
	target, path := filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "agent.log")
	if err := os.WriteFile(target, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(target, path); err != nil {
		t.Fatal(err)
	}
	l, err := readLogFlags(t, "-logtostderr=false", "-log_file="+path)
	if err != nil {
		t.Fatal(err)
	}
	_, logErr := l.Open()
	_, _, auditErr := (&AuditFlags{File: path, maxSize: 1}).open(klog.Background())
	for want, err := range map[string]error{"log file: ": logErr, "-audit-log: log file: ": auditErr} {
		if want += path + " is refused: "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "before" {
		t.Errorf("the link's target holds %q (%v)", content, err)
	}
}
