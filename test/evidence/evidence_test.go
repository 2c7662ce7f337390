// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// The page has what the records say, and nothing else.
func TestEvidencePageMatchesTheRecords(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	want, err := pageFrom(os.DirFS(filepath.Join(docs, "evidence")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(docs, "evidence.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(got), "\r\n", "\n"), string(want)); diff != "" {
		t.Errorf("docs/evidence.md differs from the records in docs/evidence; write it with: go run ./test/evidence "+
			"-o docs/evidence.md docs/evidence (-got +want):\n%s", diff)
	}
}

const passing = `{"Action":"run","Package":"p","Test":"TestConformance"}
{"Action":"pass","Package":"p","Test":"TestConformance/of/disk_v1/Rescan_hostile"}
{"Action":"pass","Package":"p","Test":"TestConformance/of/disk_v1/Rescan_success"}
{"Action":"pass","Package":"p","Test":"TestConformance/of/disk_v1beta3/Rescan_repeat"}
{"Action":"output","Package":"p","Test":"TestLifecycle/v1","Output":"    life_test.go:1: proved: disk"}
{"Action":"output","Package":"p","Test":"TestLifecycle/v1","Output":" v1 Rescan\n"}
{"Action":"pass","Package":"p","Test":"TestLifecycle/v1"}
{"Action":"output","Package":"p","Test":"TestLifecycle/skipped","Output":"    life_test.go:1: proved: disk v1 SetDiskState\n"}
{"Action":"skip","Package":"p","Test":"TestLifecycle/skipped"}
{"Action":"output","Package":"p","Test":"TestCalls","Output":"    host_test.go:1: ended: disk v1 GetDiskState: Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED\r\n"}
{"Action":"output","Package":"p","Test":"TestCalls","Output":"    host_test.go:1: ended: iscsi v1alpha2 ConnectTarget: Unimplemented\n"}
{"Action":"output","Package":"p","Test":"TestCalls","Output":"    host_test.go:1: ended: iscsi v1alpha2 ListTargetPortals: OK\n"}
{"Action":"pass","Package":"p","Test":"TestCalls"}
{"Action":"output","Package":"p","Test":"TestFake/v1alpha2","Output":"    host_test.go:1: faked: iscsi v1alpha2 ConnectTarget: OK, fake initiator\r\n"}
{"Action":"output","Package":"p","Test":"TestFake/v1alpha2","Output":"    host_test.go:1: faked: iscsi v1alpha2 ListTargetPortals: OK, fake initiator\r\n"}
{"Action":"pass","Package":"p","Test":"TestFake/v1alpha2"}
{"Action":"output","Package":"p","Test":"TestFake/skipped","Output":"    host_test.go:1: faked: disk v1 GetDiskState: OK, fake initiator\r\n"}
{"Action":"skip","Package":"p","Test":"TestFake/skipped"}
`

const relating = `{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:1: relates: disk v1 Rescan: hub\n"}
{"Action":"pass","Package":"p","Test":"T"}
`

const end = `{"Action":"pass","Package":"p"}
`

func TestRecords(t *testing.T) {
	for _, test := range []struct {
		name, level, events string
		want                map[string]string
		problem             string
	}{
		{name: "marks", level: "emulated", events: passing + end,
			want: map[string]string{"disk v1 Rescan": "SHL", "disk v1beta3 Rescan": "R"}},
		{name: "relations", level: "pure", events: relating + end, want: map[string]string{"disk v1 Rescan": "hub"}},
		{name: "how calls ended", level: "wine-windows", events: passing + end, want: map[string]string{
			"disk v1 GetDiskState":         "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
			"iscsi v1alpha2 ConnectTarget": "OK, fake initiator", "iscsi v1alpha2 ListTargetPortals": "OK",
		}},
		{name: "cut off", level: "emulated", events: passing, problem: "no package ended"},
		{name: "no events", level: "emulated", events: "ok  p 1s\n", problem: "the events of go test"},
		{name: "a failed test", level: "emulated", events: passing + `{"Action":"fail","Package":"p","Test":"TestOther"}` +
			"\n" + end, problem: "a test failed: p TestOther"},
		{name: "a failed package", level: "emulated", events: passing + `{"Action":"fail","Package":"p"}` + "\n",
			problem: "a test failed: p"},
		{name: "nothing", level: "emulated", events: end, problem: "prove nothing"},
		{name: "no level", level: "mac", events: end, problem: `there is no level "mac"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			content, err := makeRecord(record{Level: test.level}, strings.NewReader(test.events))
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("got %v, want %q", err, test.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := readRecord(fstest.MapFS{test.level + ".json": {Data: content}}, test.level)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got.Methods, test.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

// The methods of the page are those of the pure level's record.
func TestEveryMethodIsOnThePage(t *testing.T) {
	r, err := readRecord(os.DirFS(filepath.Join("..", "..", "docs", "evidence")), "pure")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, api := range testnode.Released(t) {
		for i := range api.Service.Methods().Len() {
			want = append(want, api.Group+" "+api.Version+" "+string(api.Service.Methods().Get(i).Name()))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(r.Methods)), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// pureOnly returns the records of the level pure, with all methods, beside other files.
func pureOnly(t *testing.T, more fstest.MapFS) fstest.MapFS {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "evidence", "pure.json"))
	if err != nil {
		t.Fatal(err)
	}
	files := maps.Clone(more)
	files["pure.json"] = &fstest.MapFile{Data: content}
	return files
}

func TestEvidenceWithoutWindowsSaysSo(t *testing.T) {
	page, err := pageFrom(pureOnly(t, fstest.MapFS{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**The Windows column is empty", "| Windows | 0 of 146 | never run |",
		"| emulated | 0 of 146 | never run |", "| disk | Rescan | v1 | hub |  |  |  |  |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("without %q:\n%s", want, page)
		}
	}
	for name, content := range map[string]string{
		"emulated.json":      `{"level":"pure"}`,
		"wine-emulated.json": `{"level":"wine-emulated","methods":{"disk v9 Rescan":"S"}}`,
		"wine-windows.json":  `{`,
	} {
		if _, err := pageFrom(pureOnly(t, fstest.MapFS{name: {Data: []byte(content)}})); err == nil {
			t.Errorf("%s with %s is accepted", name, content)
		}
	}
}

// A report of Windows fills the Windows column with what held on each build. Others are refused.
func TestReportsFillTheColumn(t *testing.T) {
	report := func(system, build, part, method, how string, verdict proof.Verdict) []byte {
		t.Helper()
		r := proof.Report{
			Kit:     proof.Kit{Version: "v9.9.9", SHA256: strings.Repeat("0", 64)},
			Machine: proof.Machine{System: system, Product: "Windows Server", Build: build, Wine: "10.0", Architecture: "amd64"},
			Begun:   time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
			Parts: []proof.Part{{Name: part, Verdict: verdict, Checks: []proof.Check{
				{Test: "TestLifecycle/v1", Verdict: verdict, Methods: map[string]string{method: how}},
			}}},
		}
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	file := func(content []byte) *fstest.MapFile { return &fstest.MapFile{Data: content} }
	const method = "disk v1 Rescan"
	page, err := pageFrom(pureOnly(t, fstest.MapFS{
		"reports/README.md": file([]byte("text")),
		"reports/a.json.gz": file(report(proof.Windows, "10.0.20348.1", "lives-child", method, "proved", proof.Held)),
		"reports/b.json.gz": file(report(proof.Windows, "10.0.26100.1", "lives-service", method, "proved", proof.Held)),
		"reports/c.json.gz": file(report(proof.Windows, "10.0.17763.1", "lives-child", method, "proved", proof.Failed)),
		"reports/d.json.gz": file(report(proof.Windows, "10.0.19045.1", "emulated", method, "proved", proof.Held)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"L 20348 26100 |", "| Windows | 1 of 146 | 2026-11-30 | v9.9.9 | Windows Server 10.0.20348.1, amd64 | " +
			"[csi-proxy-prove](evidence/reports/a.json.gz) |",
		"| Windows | 0 of 146 | 2026-11-30 | v9.9.9 | Windows Server 10.0.17763.1, amd64 |",
		"| Windows | 0 of 146 | 2026-11-30 | v9.9.9 | Windows Server 10.0.19045.1, amd64 |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("without %q:\n%s", want, page)
		}
	}
	if strings.Contains(string(page), "column is empty") {
		t.Errorf("Windows is shown as empty:\n%s", page)
	}
	for name, content := range map[string][]byte{
		"Wine":      report(proof.Wine, "10.0.19043", "calls", method, "OK", proof.Held),
		"emulated":  report(proof.Emulated, "", "lives-child", method, "proved", proof.Held),
		"no method": report(proof.Windows, "10.0.20348", "lives-child", "disk v9 Rescan", "proved", proof.Held),
		"no report": []byte("{}"),
		"no JSON":   []byte("x"),
		"wrong bytes": bytes.ReplaceAll(report(proof.Windows, "1", "lives", method, "proved", proof.Held), []byte{0},
			[]byte{1}),
	} {
		if _, err := pageFrom(pureOnly(t, fstest.MapFS{"reports/x.json.gz": file(content)})); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestFakeCountsAsFake(t *testing.T) {
	page, err := pageFrom(pureOnly(t, fstest.MapFS{"wine-windows.json": {Data: []byte(
		`{"level":"wine-windows","methods":{"disk v1 Rescan":"OK","iscsi v1alpha2 ConnectTarget":"OK, fake initiator","disk v1 GetDiskState":"Unimplemented"}}`)}}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "| Wine, kernel | 2 of 146, 1 with a fake |"; !strings.Contains(string(page), want) {
		t.Errorf("without %q:\n%s", want, page)
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add(passing + end)
	f.Add(`{"Action":"output","Output":"x: ended: a b c: d\n"}`)
	f.Fuzz(func(t *testing.T, text string) {
		facts, err := readEvents(strings.NewReader(text))
		if err != nil {
			return
		}
		for method, marks := range marks(facts) {
			if marks == "" || len(strings.Fields(method)) != 3 {
				t.Errorf("%q has the marks %q", method, marks)
			}
		}
	})
}
