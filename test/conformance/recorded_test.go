// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// recordLives runs tests as csi-proxy-prove does, on new emulated nodes, and returns their kernel calls.
func recordLives(t *testing.T, tests string) []recording.Call {
	t.Helper()
	if onWindowsNode() {
		t.Skip("a machine is recorded by csi-proxy-prove")
	}
	program, err := os.Executable()
	noError(t, err)
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	c := exec.CommandContext(t.Context(), program, "-test.run="+tests)
	c.Env = append(os.Environ(), testnode.RecordingVariable+"="+file, "CSI_PROXY_LONG=1") // no sample
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(file)
	noError(t, err)
	defer f.Close()
	calls, err := recording.Read(f)
	noError(t, err)
	return calls
}

// A recorded life is answered in the same way by a second node; a change of one answer is found.
func TestRecordedLifecyclesAreCompared(t *testing.T) {
	const tests = "^Test(Share|Target|Service)?Lifecycle$/^v1(alpha1)?$"
	first, second := recordLives(t, tests), recordLives(t, tests)
	for _, d := range compareRecordings(first, second) {
		t.Errorf("two nodes differ: %v", d)
	}
	at := slices.IndexFunc(first, func(c recording.Call) bool { return c.Function == "FormatVolume" })
	if at < 0 {
		t.Fatalf("%d calls are recorded, and none formats a volume", len(first))
	}
	first[at].Win32, first[at].Error = 5, "ERROR_ACCESS_DENIED"
	found := compareRecordings(first, second)
	if len(found) != 1 || !strings.HasPrefix(found[0].Call, "FormatVolume") || found[0].Field != "error" {
		t.Errorf("a planted difference is found as %v", found)
	}
}

// TestReportsOfMachines shows what emulated nodes answer otherwise than the machines in docs/evidence/reports did.
func TestReportsOfMachines(t *testing.T) {
	files, err := filepath.Glob("../../docs/evidence/reports/*.json.gz")
	noError(t, err)
	if len(files) == 0 {
		t.Skip("docs/evidence/reports has no report yet")
	}
	emulated := recordLives(t, "Lifecycle")
	for _, file := range files {
		f, err := os.Open(file)
		noError(t, err)
		report, err := proof.Read(f)
		_ = f.Close()
		noError(t, err)
		var recorded []recording.Call
		for _, line := range report.Calls {
			var c recording.Call
			noError(t, json.Unmarshal(line, &c))
			recorded = append(recorded, c)
		}
		for _, d := range compareRecordings(recorded, emulated) {
			t.Logf("%s: %v", filepath.Base(file), d)
		}
	}
}
