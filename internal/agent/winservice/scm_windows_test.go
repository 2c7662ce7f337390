// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// onWine reports whether this is Wine, which has this function, and not Windows.
func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

func TestServiceDefinitionRoundTrip(t *testing.T) {
	if !onWine() && os.Getenv("CSI_PROXY_TEST_SERVICE") == "" {
		t.Skip("require CSI_PROXY_TEST_SERVICE: this installs and removes a service of this machine")
	}
	m, err := Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	d := wanted()
	d.Name = "csiproxy-definition-test"
	d.Command = []string{`C:\Program Files\csi proxy\csi-proxy.exe`, "-windows-service",
		`-log_file=C:\a log\`, `-x="quoted"`, ""}
	if _, err := m.Query(d.Name); !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("got %v, want %v", err, ErrNotInstalled)
	}
	if err := m.Create(d); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Delete(d.Name); err != nil {
			t.Error(err)
		}
		if _, err := m.Query(d.Name); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("after Delete: got %v, want %v", err, ErrNotInstalled)
		}
	}()
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\`+d.Name, registry.QUERY_VALUE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = key.Close() }()
	same := func() {
		t.Helper()
		installed, err := m.Query(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		want := Installed{Definition: d, State: Stopped, ExitCode: uint32(windows.ERROR_SERVICE_NEVER_STARTED)}
		want.Description, want.PreShutdown = "", 0 // see Query
		if onWine() {
			want.Recovery = nil // which it neither stores nor returns
			want.ExitCode = installed.ExitCode
		}
		if diff := cmp.Diff(want, installed); diff != "" {
			t.Error(diff)
		}
		description, _, err := key.GetStringValue("Description")
		milliseconds, _, errTime := key.GetIntegerValue("PreshutdownTimeout")
		if description != d.Description || time.Duration(milliseconds)*time.Millisecond != d.PreShutdown {
			t.Errorf("the description is %q (%v), the time at shutdown %d ms (%v)", description, err, milliseconds, errTime)
		}
	}
	same()

	// This is how Windows will read it: without the quotes it would start C:\Program.exe.
	path, _, err := key.GetStringValue("ImagePath")
	if want := `"C:\Program Files\csi proxy\csi-proxy.exe" -windows-service `; err != nil ||
		!strings.HasPrefix(path, want) {
		t.Errorf("the service's path is %s (%v), want it to begin with %s", path, err, want)
	}

	d.Command, d.Start = []string{`C:\csi-proxy.exe`}, win32.SERVICE_DEMAND_START
	d.DisplayName, d.Description, d.PreShutdown = "Other", "other", time.Minute
	d.Recovery = &Recovery{}
	if err := m.Update(d); err != nil {
		t.Fatal(err)
	}
	same()
}

// A service whose event source is missing, or which has no log, runs all the same.
func TestEventLogFailureIsHarmless(t *testing.T) {
	unregistered, err := eventlog.Open("csiproxy-nobody-registered-this")
	if err != nil {
		t.Fatal(err)
	}
	for _, events := range []*eventlog.Log{unregistered, {}} {
		_ = events.Info(EventStarted, "one")
		_ = events.Warning(EventCutOff, "two\x00")
		_ = events.Error(EventFailed, strings.Repeat("three ", 10000))
		_ = events.Close()
	}
}

// An event source may be registered again.
func TestEventSource(t *testing.T) {
	if !onWine() && os.Getenv("CSI_PROXY_TEST_SERVICE") == "" {
		t.Skip("require CSI_PROXY_TEST_SERVICE: this registers and removes an event source of this machine")
	}
	const name = "csiproxy-source-test"
	for range 2 {
		if err := (scm{}).RegisterEvents(name); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := (scm{}).RemoveEvents(name); err != nil {
			t.Error(err)
		}
	}
}
