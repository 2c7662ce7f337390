// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// kitVariable names a whole kit, which the tests run on this machine; killsVariable is how often they kill it, and
// reportVariable where they leave its report. hack/prove-wine.sh sets them.
const (
	kitVariable    = "CSI_PROXY_PROVE_KIT"
	killsVariable  = "CSI_PROXY_PROVE_KILLS"
	reportVariable = "CSI_PROXY_PROVE_REPORT"
)

func wholeKit(t *testing.T) string {
	t.Helper()
	name := os.Getenv(kitVariable)
	if name == "" {
		t.Skip("require " + kitVariable + ": hack/prove-wine.sh builds a kit and sets it")
	}
	return name
}

// Only administrators may use the kit's directory.
func TestKitsDirectoryIsForAdministrators(t *testing.T) {
	list, err := windows.SecurityDescriptorFromString(baseSDDL)
	if err != nil {
		t.Fatal(err)
	}
	if control, _, err := list.Control(); err != nil || control&windows.SE_DACL_PROTECTED == 0 ||
		!strings.HasSuffix(list.String(), "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)") {
		t.Errorf("the list is %s, %v", list, err)
	}
	base := filepath.Join(t.TempDir(), "base")
	if err := prepare(base); err != nil {
		t.Fatal(err)
	}
	descriptor, err := windows.GetNamedSecurityInfo(base, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(descriptor.String(), ";;;WD)") && wineVersion() == "" { // Wine inherits the list of the one above
		t.Error("everybody may read the directory")
	}
}

// A whole kit runs from its start to its report, and leaves nothing.
func TestWholeKit(t *testing.T) {
	kit := wholeKit(t)
	file := os.Getenv(reportVariable)
	if file == "" {
		file = filepath.Join(t.TempDir(), "report.json.gz")
	}
	out, err := exec.CommandContext(t.Context(), kit, "-yes", "-report="+file).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := proof.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	m, err := inspectMachine(t.Context(), baseDirectory())
	if err != nil {
		t.Fatal(err)
	}
	if r.Machine != m.Machine || !r.AllHeld() {
		t.Errorf("the report is of %+v, and all held: %t", r.Machine, r.AllHeld())
	}
	for _, p := range r.Parts {
		want := proof.Held
		if i := slices.IndexFunc(parts(), func(known part) bool { return known.name == p.Name }); !slices.Contains(
			parts()[i].systems, m.System) {
			want = proof.Unavailable
		}
		if p.Verdict != want || want == proof.Unavailable && p.Reason == "" {
			t.Errorf("%s: %s %s, want %s", p.Name, p.Verdict, p.Reason, want)
		}
	}
	text, err := os.ReadFile(pageFile(file))
	if err != nil {
		t.Fatal(err)
	}
	for name := range m.hidden.Names {
		if len(name) >= 6 && bytes.Contains(bytes.ToLower(text), []byte(strings.ToLower(name))) {
			t.Errorf("%q is in the page", name)
		}
	}
	nothingIsLeft(t)
}

// A kit that is killed at any moment leaves what the next start removes.
func TestKilledKits(t *testing.T) {
	kit := wholeKit(t)
	kills, _ := strconv.Atoi(os.Getenv(killsVariable))
	if kills == 0 {
		t.Skip("require " + killsVariable)
	}
	begun := time.Now()
	if said, err := serviceKit(t, kit).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	span, left, missed, at := time.Since(begun), 0, 0, map[string]int{}
	for killed := 0; killed < kills; {
		var said bytes.Buffer
		c := serviceKit(t, kit)
		c.Stdout, c.Stderr = &said, &said
		c.WaitDelay = time.Second
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// The moment is the thing that is tried: any within the time of an undisturbed run.
		late, met := time.NewTimer(rand.N(span)), false
		ended := make(chan struct{})
		go func() {
			_ = c.Wait()
			close(ended)
		}()
		select {
		case <-late.C:
			met = c.Process.Kill() == nil
		case <-ended:
		}
		<-ended
		if met {
			killed++
			at[lastPart(said.String())]++
		} else if missed++; missed > kills {
			t.Fatalf("%d of %d kits ended before their kill", missed, missed+killed)
		}
		out, err := exec.CommandContext(t.Context(), kit, "-clean", "-yes",
			"-report="+filepath.Join(t.TempDir(), "clean.json.gz")).CombinedOutput()
		if err != nil {
			t.Fatalf("kill %d: %v\nkilled after:\n%s\nand then:\n%s", killed, err, said.String(), out)
		}
		if bytes.Contains(out, []byte("An earlier run left these")) {
			left++
		}
		nothingIsLeft(t)
	}
	t.Logf("%d kills of a running kit, %d of which left things in the ledger; by the part that ran: %v; %d further kits "+
		"ended before their kill", kills, left, at, missed)
}

// serviceKit is a kit that tries the agent as a service, and asks nothing.
func serviceKit(t *testing.T, kit string) *exec.Cmd {
	t.Helper()
	return exec.Command(kit, "-yes", "-only=service", "-report="+filepath.Join(t.TempDir(), "report.json.gz"))
}

// lastPart returns the part that a kit began last.
func lastPart(said string) string {
	part := "none"
	for line := range strings.Lines(said) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "=== "); ok {
			part = name
		}
	}
	return part
}

// nothingIsLeft checks what the two parts make: the directory, the service and the pipes.
func nothingIsLeft(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(baseDirectory()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", baseDirectory(), err)
	}
	if _, err := os.Stat(recordsDirectory()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", recordsDirectory(), err)
	}
	scm, err := winservice.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scm.Close() }()
	if s, err := scm.Query("csiproxy"); !errors.Is(err, winservice.ErrNotInstalled) {
		t.Errorf("the service is still there: %+v, %v", s, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for { // the process of a service that was stopped ends a moment later
		conn, err := winio.DialPipeContext(ctx, `\\.\pipe\csi-proxy-disk-v1`)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			t.Fatalf("the pipes are still there: %v", err)
		}
		_ = conn.Close()
		if ctx.Err() != nil {
			t.Fatal("an agent still serves")
		}
	}
}
