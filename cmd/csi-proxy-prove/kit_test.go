// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// The programs of the tests' kit are scripts, which print what a test program does: \026 is the marker of its lines.
var scripts = map[string]string{
	"good.test": `printf '\026=== RUN   TestGood\n    good_test.go:1: proved: disk v1 Rescan\n    good_test.go:2: ended: disk v1 GetDiskState: OK\n\026--- PASS: TestGood (0.25s)\n'
printf '\026=== RUN   TestAbsent\n    good_test.go:3: require a machine\n\026--- SKIP: TestAbsent (0.00s)\nPASS\n'
printf '{"answers":[{"question":"R1","text":"Where?","status":"answered","answer":{"on":"SECRETHOST"}}]}' >"$CSI_PROXY_ANSWERS"
printf '{"function":"FormatVolume","in":"secrethost"}\n{"torn' >"${CSI_PROXY_RECORDING:-/dev/null}"`,
	"bad.test": `printf '\026=== RUN   TestBad\nsome panic of SecretUser'
printf '\n\026=== NAME  TestBad\n    bad_test.go:7: it broke on SECRETHOST\n\026--- FAIL: TestBad (0.50s)\nFAIL\n'
exit 1`,
	"crash.test": `printf '\026=== RUN   TestCrash\ngoroutine 1 [running]\n'; exit 2`,
	"none.test":  `printf 'PASS\n'`,
	"measure":    `echo "| 1 ms |"`,
	"broken":     `echo "no such thing"; exit 3`,
	"away":       `rm -r "$GONE"`,
	"records":    `echo >"$MADE"`,
	// It makes a directory on the machine and waits; the kit's directory of this run ends before it.
	"made.test": `printf '\n{"made":{"id":"1","kind":"directory","name":"%s"}}\n' "$MADE" >>"$CSI_PROXY_PROVE_LEDGER"; mkdir "$MADE"
printf '\026=== RUN   TestMade\n\026--- FAIL: TestMade (0.00s)\n\026=== RUN   TestWaits\n'
read line <"$UNTIL"`,
}

func fakeParts() []part {
	all := []string{proof.Emulated}
	of := func(name string, steps ...step) part {
		return part{name: name, does: "It tries " + name + ".", systems: all, limit: time.Minute, minutes: 1, steps: steps}
	}
	installed := of("needs-service", step{program: "good.test"})
	installed.needs = []need{noService}
	unbuilt := of("unbuilt", step{program: "unbuilt.test"})
	windowsOnly := of("windows-only", step{program: "good.test"})
	windowsOnly.systems = []string{proof.Windows}
	return []part{
		of("good", step{program: "good.test", env: []string{"CSI_PROXY_RECORDING={dir}/" + callsName}}),
		of("bad", step{program: "bad.test"}),
		of("crash", step{program: "crash.test"}),
		of("none", step{program: "none.test"}),
		of("measure", step{name: "figures", program: "measure", writes: true}),
		of("steps", step{name: "first", program: "broken"}, step{name: "second", program: "measure"}),
		of("made", step{program: "made.test"}),
		windowsOnly, installed, unbuilt,
	}
}

// newKit returns a kit with the scripts, in a directory of its own.
func newKit(t *testing.T) (*kit, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	programs, program := filepath.Join(dir, "programs"), filepath.Join(dir, "program")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, script := range scripts {
		put(t, filepath.Join(programs, name), "#!/bin/sh\n"+script+"\n")
	}
	put(t, program, strings.Repeat("a program ", 1000))
	self := filepath.Join(dir, "kit")
	if err := pack([3]string{program, programs, self}); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	return &kit{self: self, parts: fakeParts(), base: filepath.Join(dir, "base"), stdin: strings.NewReader(""), out: out,
		inspect: fakeLook}, out
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

func fakeLook(_ context.Context, base string) (machine, error) {
	m := machine{base: base, Machine: proof.Machine{System: proof.Emulated, Product: "Test OS of SecretHost",
		Architecture: "amd64"}, service: "running"}
	m.machineSerial, m.diskSerials = "SERIAL-OF-MACHINE", []string{"SERIAL-OF-DISK"}
	m.note("a disk", "SERIAL-OF-DISK in SERIAL-OF-MACHINE")
	m.redact("HOST", "SECRETHOST")
	m.redact("USER", "SecretUser", "root")
	return m, nil
}

// ran runs a kit and returns its exit code and its report, nil if it wrote none.
func ran(t *testing.T, k *kit, args ...string) (int, *proof.Report, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json.gz")
	code, err := k.run(t.Context(), append(args, "-report="+file))
	return code, report(t, file), err
}

func report(t *testing.T, name string) *proof.Report {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	r, err := proof.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func verdictsOf(r *proof.Report) []string {
	var all []string
	for _, p := range r.Parts {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s %s", p.Name, p.Verdict, p.Reason)))
		for _, c := range p.Checks {
			all = append(all, strings.TrimRight(fmt.Sprintf("  %s: %s %s", c.Test, c.Verdict, c.Reason), " "))
		}
	}
	return all
}

func TestEverythingIsReported(t *testing.T) {
	k, out := newKit(t)
	code, r, err := ran(t, k, "-yes", "-only=good,bad,crash,none,measure,steps,windows-only,needs-service,unbuilt")
	if err != nil || code != exitFailed {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	want := []string{
		"good: held", "  TestGood: held", "  TestAbsent: not here require a machine",
		"bad: failed exit status 1", "  TestBad: failed it broke on HOST",
		"crash: failed exit status 2", "  TestCrash: failed its program ended before it",
		"none: failed no test ran",
		"measure: held", "  figures: held",
		"steps: failed exit status 3", "  first: failed exit status 3",
		"made: not run",
		"windows-only: not here it is for windows, and this is neither Windows nor Wine",
		"needs-service: not here a service csiproxy is installed here (running), and the kit touches none that it did " +
			"not make",
		"unbuilt: not here this kit was built without unbuilt.test",
	}
	if diff := cmp.Diff(verdictsOf(r), want); diff != "" {
		t.Errorf("(-got +want):\n%s\n%s", diff, out)
	}
	if diff := cmp.Diff(r.Parts[0].Checks[0].Methods,
		map[string]string{"disk v1 Rescan": "proved", "disk v1 GetDiskState": "OK"}); diff != "" {
		t.Errorf("methods (-got +want):\n%s", diff)
	}
	if got := strings.Join(r.Parts[1].Checks[0].Output,
		"|"); got != "some panic of USER|    bad_test.go:7: it broke on HOST" {
		t.Errorf("the output of the failed test is %q", got)
	}
	if r.Parts[4].Output != "| 1 ms |\n" {
		t.Errorf("the figures are %q", r.Parts[4].Output)
	}
	if len(r.Answers) != 1 || r.Answers[0].Said() != `{"on":"HOST"}` {
		t.Errorf("the answers are %+v", r.Answers)
	}
	if len(r.Calls) != 1 || !strings.Contains(string(r.Calls[0]), "FormatVolume") ||
		strings.Contains(strings.ToLower(string(r.Calls[0])), "secrethost") {
		t.Errorf("the calls are %s", r.Calls)
	}
	self, err := hashOf(k.self)
	if err != nil || r.Kit.SHA256 != self {
		t.Errorf("the kit is %+v (%v)", r.Kit, err)
	}
	if _, err := os.Stat(k.base); err == nil {
		t.Error("the kit's directory is still there")
	}
	for _, said := range []string{"This kit: ", self, "In all about 6 minutes.", "  held: TestGood (0.2 s)",
		"  not here: TestAbsent (0.0 s)"} {
		if !strings.Contains(out.String(), said) {
			t.Errorf("it did not say %q:\n%s", said, out)
		}
	}
}

// The directory in which an agent of the kit records who uses shares goes with it.
func TestRecordsOfSharesAreRemoved(t *testing.T) {
	k, out := newKit(t)
	data := filepath.Join(t.TempDir(), "csi-proxy")
	k.records = filepath.Join(data, "shares")
	t.Setenv("MADE", filepath.Join(k.records, "record"))
	k.parts = []part{{name: "agent", systems: []string{proof.Emulated}, needs: []need{freePipes}, limit: time.Minute,
		steps: []step{{name: "records", program: "records"}}}}
	if code, _, err := ran(t, k, "-yes"); code != exitHeld || err != nil {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the records of shares are still there")
	}
}

// The page for people is one file with the verdicts, and what is hidden from the report is not in it.
func TestPage(t *testing.T) {
	k, _ := newKit(t)
	file := filepath.Join(t.TempDir(), "report.json.gz")
	if _, err := k.run(t.Context(), []string{"-yes", "-only=good,bad", "-report=" + file, "-hash-serials"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(pageFile(file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, want := range []string{"<td>TestBad<br><small>it broke on HOST</small>", `class="v failed">failed`,
		`<a href="#good">good</a>`, "Where?", "disk v1 Rescan"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, hidden := range []string{"secrethost", "secretuser", "serial-of-disk", "serial-of-machine",
		"http://", "https://", "src="} {
		if strings.Contains(strings.ToLower(text), hidden) {
			t.Errorf("%s is in the page", hidden)
		}
	}
	// Without the flag the serials of disks stay.
	k, _ = newKit(t)
	_, r, err := ran(t, k, "-yes", "-only=good")
	if err != nil || !regexp.MustCompile("^SERIAL-OF-DISK in [0-9a-f]{17}$").MatchString(r.Found[0].Text) {
		t.Errorf("found %v (%v)", r.Found, err)
	}
}

// Wine says that it is some Windows. The page does not repeat that as a fact.
func TestPageOfWine(t *testing.T) {
	var text strings.Builder
	r := &proof.Report{Machine: proof.Machine{System: proof.Wine, Product: "Windows 10 Pro",
		Build: "10.0.19043", Wine: "10.0"}}
	if err := page(&text, r); err != nil {
		t.Fatal(err)
	}
	for want, count := range map[string]int{"CSI Proxy on Wine 10.0<": 2, "Wine 10.0, which is not Windows": 1,
		"Windows 10 Pro": 1, "It says that it is Windows 10 Pro": 1} {
		if got := strings.Count(text.String(), want); got != count {
			t.Errorf("%q is there %d times, want %d", want, got, count)
		}
	}
}

func TestNothingIsDoneWithoutConsent(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		args   []string
		want   string
	}{
		"no":            {"n\n", nil, "nothing was done"},
		"an empty line": {"\n", nil, "nothing was done"},
		"no answer":     {"", nil, "give -yes"},
		"no such part":  {"yes\n", []string{"-only=good,nothing"}, `no part "nothing"`},
		"a wrong flag":  {"yes\n", []string{"-force"}, "-force"},
		"an argument":   {"yes\n", []string{"good"}, `unknown argument "good"`},
	} {
		t.Run(name, func(t *testing.T) {
			k, out := newKit(t)
			k.stdin = strings.NewReader(test.answer)
			code, r, err := ran(t, k, test.args...)
			if code != exitNothing || r != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit %d, %v, want %q", code, err, test.want)
			}
			if _, err := os.Stat(k.base); err == nil {
				t.Errorf("something was done\n%s", out)
			}
		})
	}
	k, out := newKit(t)
	k.stdin = strings.NewReader("YES\n")
	if code, r, err := ran(t, k, "-only=good"); code != exitHeld || err != nil || !r.AllHeld() {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
	for _, said := range []string{"It tries good.", "Do all this?", "good      "} {
		if !strings.Contains(out.String(), said) {
			t.Errorf("the kit did not say %q before it asked:\n%s", said, out)
		}
	}
	if strings.Contains(out.String(), "It tries bad.") {
		t.Errorf("it names a part that nobody wants:\n%s", out)
	}
}

func TestListDoesNothing(t *testing.T) {
	k, out := newKit(t)
	if code, err := k.run(t.Context(), []string{"-list"}); code != exitHeld || err != nil {
		t.Fatalf("exit %d, %v", code, err)
	}
	if _, err := os.Stat(k.base); err == nil ||
		!strings.Contains(out.String(), "This cannot be done here:\n  windows-only ") {
		t.Errorf("it said:\n%s", out)
	}
}

func TestRefusals(t *testing.T) {
	k, _ := newKit(t)
	put(t, k.self, "a program without a zip")
	if code, _, err := ran(t, k, "-yes"); code != exitNothing || err == nil ||
		!strings.Contains(err.Error(), "hack/build-prove.sh") {
		t.Errorf("a kit without programs: exit %d, %v", code, err)
	}
	k, _ = newKit(t)
	file := filepath.Join(t.TempDir(), "report.json.gz")
	put(t, file, "precious")
	if code, err := k.run(t.Context(), []string{"-yes", "-report=" + file}); code != exitNothing || err == nil ||
		!strings.Contains(err.Error(), "exists") {
		t.Errorf("a report that exists: exit %d, %v", code, err)
	}
	k, _ = newKit(t)
	if err := os.Mkdir(k.base, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(k.base, 0o777); err != nil {
		t.Fatal(err)
	}
	if code, _, err := ran(t, k, "-yes"); code != exitNothing || err == nil ||
		!strings.Contains(err.Error(), "can be changed by group 0, everyone") {
		t.Errorf("a directory that others may change: exit %d, %v", code, err)
	}
	k, _ = newKit(t)
	if err := prepare(k.base); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(k.base)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, err := ran(t, k, "-yes"); code != exitNothing || err == nil ||
		!strings.Contains(err.Error(), "another csi-proxy-prove runs") {
		t.Errorf("beside another kit: exit %d, %v", code, err)
	}
	unlock()
}

// An agent that comes while the kit runs keeps the later parts from calling it.
func TestAnAgentThatComesLater(t *testing.T) {
	k, out := newKit(t)
	i := slices.IndexFunc(k.parts, func(p part) bool { return p.name == "crash" })
	k.parts[i].needs = []need{freePipes}
	looks := 0
	k.inspect = func(ctx context.Context, base string) (machine, error) {
		m, err := fakeLook(ctx, base)
		if looks++; looks > 2 { // the first, and that of the first part
			m.agentPipes = []string{"csi-proxy-disk-v1"}
		}
		return m, err
	}
	_, r, err := ran(t, k, "-yes", "-only=good,crash")
	const want = "crash: not here another agent serves its pipes here (csi-proxy-disk-v1): stop it first, on a machine " +
		"whose pods do not need it"
	if err != nil || !slices.Contains(verdictsOf(r), want) {
		t.Errorf("%v, %q\n%s", err, verdictsOf(r), out)
	}
}

func TestHangingPart(t *testing.T) {
	k, _ := newKit(t)
	made := waits(t)
	i := slices.IndexFunc(k.parts, func(p part) bool { return p.name == "made" })
	k.parts[i].limit = 300 * time.Millisecond
	code, r, err := ran(t, k, "-yes", "-only=made")
	if err != nil || code != exitFailed || r.Interrupted {
		t.Fatalf("exit %d, %v", code, err)
	}
	if got := verdictsOf(r)[i]; got != "made: failed it did not end within 300ms" {
		t.Errorf("it reports %q", got)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("what the part made is still there")
	}
}

// waits sets what the part "made" needs, and returns the directory that it makes on the machine.
func waits(t *testing.T) (made string) {
	t.Helper()
	dir := t.TempDir()
	made = filepath.Join(dir, "made")
	until := filepath.Join(dir, "until")
	if err := syscall.Mkfifo(until, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MADE", made)
	t.Setenv("UNTIL", until)
	t.Cleanup(func() { // let go one that outlived its kit
		if f, err := os.OpenFile(until, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
	})
	return made
}

// kitVariable makes a copy of this test program the kit in that directory.
const kitVariable = "CSI_PROXY_PROVE_TEST_KIT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(kitVariable); dir != "" {
		k := &kit{self: filepath.Join(dir, "kit"), parts: fakeParts(), base: filepath.Join(dir, "base"), stdin: os.Stdin,
			out: os.Stdout, inspect: fakeLook}
		os.Exit(k.main(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// interrupted starts a kit as a process, signals it when its part has made something on the machine, and returns the
// code that it ended with.
func interrupted(t *testing.T, k *kit, signal os.Signal, file string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-yes", "-only=made,good", "-report="+file)
	c.Env = append(os.Environ(), kitVariable+"="+filepath.Dir(k.self))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "failed: TestMade") {
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for lines.Scan() { // until it has ended
		continue
	}
	_ = c.Wait() // ProcessState has the result
	return c.ProcessState.ExitCode()
}
