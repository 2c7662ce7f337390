// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// The page has what the records say, and nothing else.
func TestThePageIsThatOfTheRecords(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	want, err := pageFrom(os.DirFS(filepath.Join(docs, "evidence")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(docs, "evidence.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(got), "\r\n", "\n"), want); diff != "" {
		t.Errorf("docs/evidence.md differs from the records in docs/evidence; write it with: go run ./test/evidence page "+
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
		{name: "lives alone", level: "windows", events: passing + end, want: map[string]string{"disk v1 Rescan": "L"}},
		{name: "how calls ended", level: "wine-windows", events: passing + end, want: map[string]string{
			"disk v1 GetDiskState":         "Unimplemented DeviceIoControl ERROR_NOT_SUPPORTED",
			"iscsi v1alpha2 ConnectTarget": "OK, fake initiator", "iscsi v1alpha2 ListTargetPortals": "OK",
		}},
		{name: "cut off", level: "emulated", events: passing, problem: "no package ended"},
		{name: "no events", level: "emulated", events: "ok  p 1s\n", problem: "the events of go test"},
		{name: "a failed test", level: "emulated", events: passing + `{"Action":"fail","Package":"p","Test":"TestOther"}` +
			"\n" + end, problem: "1 tests failed, the first of them TestOther"},
		{name: "a failed package", level: "emulated", events: passing + `{"Action":"fail","Package":"p"}` + "\n",
			problem: "the tests of p failed"},
		{name: "a method that never was", level: "emulated", events: strings.ReplaceAll(passing, "Rescan", "Format") + end,
			problem: `there is no method "disk v1`},
		{name: "nothing", level: "windows", events: end, problem: "prove nothing"},
		{name: "no comparison", level: "pure", events: end, problem: "TestEveryMethodHasOnePlace did not run"},
		{name: "no level", level: "mac", events: end, problem: `the level "mac" is not one of`},
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
			records, err := readRecords(fstest.MapFS{test.level + ".json": {Data: content}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(records[test.level].Methods, test.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestEveryMethodIsOnThePage(t *testing.T) {
	all, kinds, err := methods()
	if err != nil {
		t.Fatal(err)
	}
	released := 0
	for _, api := range testnode.Released(t) {
		released += api.Service.Methods().Len()
	}
	if len(all) != released || len(kinds) != released {
		t.Errorf("got %d methods of %d kinds, want %d", len(all), len(kinds), released)
	}
	listed := 0
	for _, rows := range grouped(all, nil) {
		for _, r := range rows {
			listed += len(r.versions)
		}
	}
	if listed != len(all) {
		t.Errorf("%d of %d methods are on the page", listed, len(all))
	}
}

func TestAPageWithoutWindowsSaysSo(t *testing.T) {
	const sentence = "**The Windows column is empty"
	empty, err := pageFrom(fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := methods()
	if err != nil {
		t.Fatal(err)
	}
	full, err := pageFrom(fstest.MapFS{"windows.json": {Data: []byte(
		`{"level":"windows","methods":{"disk v1 Rescan":"L"}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(empty, sentence) || strings.Contains(full, sentence) ||
		!strings.Contains(full, fmt.Sprintf("| Windows | 1 of %d |", len(all))) {
		t.Errorf("without a record:\n%s\nwith one:\n%s", empty, full)
	}
	for name, content := range map[string]string{
		"windows.json":  `{"level":"pure"}`,
		"other.json":    `{"level":"other"}`,
		"pure.json":     `{"level":"pure","methods":{"disk v9 Rescan":"hub"}}`,
		"emulated.json": `{`,
	} {
		if _, err := pageFrom(fstest.MapFS{name: {Data: []byte(content)}}); err == nil {
			t.Errorf("%s with %s is accepted", name, content)
		}
	}
}

// A report of a machine fills the Windows column with what held on each build. One of Wine fills nothing there.
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
	page, err := pageFrom(fstest.MapFS{
		"reports/README.md": file([]byte("text")),
		"reports/a.json.gz": file(report(proof.Windows, "10.0.20348.1", "lives-child", method, "proved", proof.Held)),
		"reports/b.json.gz": file(report(proof.Windows, "10.0.26100.1", "lives-service", method, "proved", proof.Held)),
		"reports/c.json.gz": file(report(proof.Windows, "10.0.17763.1", "lives-child", method, "proved", proof.Failed)),
		"reports/d.json.gz": file(report(proof.Windows, "10.0.19045.1", "emulated", method, "proved", proof.Held)),
		"reports/e.json.gz": file(report(proof.Wine, "10.0.19043", "calls", method, "OK", proof.Held)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"L 20348, 26100 |", "| Windows | 1 of 145 | 2026-11-30 | v9.9.9 | Windows Server 10.0.20348.1, amd64 | " +
			"[csi-proxy-prove](evidence/reports/a.json.gz) |",
		"| Windows | 0 of 145 | 2026-11-30 | v9.9.9 | Windows Server 10.0.17763.1, amd64 |",
		"| Windows | 0 of 145 | 2026-11-30 | v9.9.9 | Windows Server 10.0.19045.1, amd64 |",
		"| Wine, reported | 1 of 145 | 2026-11-30 | v9.9.9 | Wine 10.0, amd64 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "19043") || strings.Contains(page, "column is empty") {
		t.Errorf("Wine is shown as Windows, or Windows as empty:\n%s", page)
	}
	for name, content := range map[string][]byte{
		"emulated":  report(proof.Emulated, "", "lives-child", method, "proved", proof.Held),
		"no method": report(proof.Windows, "10.0.20348", "lives-child", "disk v9 Rescan", "proved", proof.Held),
		"no report": []byte("{}"),
		"no JSON":   []byte("x"),
		"wrong bytes": bytes.ReplaceAll(report(proof.Windows, "1", "lives", method, "proved", proof.Held), []byte{0},
			[]byte{1}),
	} {
		if _, err := pageFrom(fstest.MapFS{"reports/x.json.gz": file(content)}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAFakeIsCountedAsOne(t *testing.T) {
	page, err := pageFrom(fstest.MapFS{"wine-windows.json": {Data: []byte(
		`{"level":"wine-windows","methods":{"disk v1 Rescan":"OK","iscsi v1alpha2 ConnectTarget":"OK, fake initiator","disk v1 GetDiskState":"Unimplemented"}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "| Wine, kernel | 2 of 145, 1 with a fake |"; !strings.Contains(page, want) {
		t.Errorf("without %q:\n%s", want, page)
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add(passing + end)
	f.Add(`{"Action":"output","Output":"x: ended: a b c: d\n"}`)
	f.Fuzz(func(t *testing.T, text string) {
		run, err := readEvents(strings.NewReader(text))
		if err != nil {
			return
		}
		for method, marks := range run.marks() {
			if marks == "" || len(strings.Fields(method)) != 3 {
				t.Errorf("%q has the marks %q", method, marks)
			}
		}
	})
}
