// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

func wide(text string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// sample returns a report with something in every field.
func sample() *proof.Report {
	return &proof.Report{
		Kit: proof.Kit{Version: "v1.2.3", SHA256: strings.Repeat("0a", 32)},
		Machine: proof.Machine{System: proof.Wine, Product: "Windows 10 Pro", Edition: "Professional", Build: "10.0.19045.0",
			Wine: "10.0", Architecture: "amd64"},
		Begun: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Seconds: 1.5, Interrupted: true,
		Found: []proof.Finding{{Name: "automount", Text: "on"}},
		Parts: []proof.Part{{
			Name: "calls", Does: "calls everything", Verdict: proof.Failed, Reason: "1 of 2 checks", Seconds: 1, Output: "some",
			Checks: []proof.Check{
				{Test: "TestCalls", Verdict: proof.Held, Seconds: 0.5, Methods: map[string]string{"disk v1 Rescan": "OK"}},
				{Test: "TestOther", Verdict: proof.Failed, Reason: "it broke", Output: []string{"no \xff text", "<&>"}},
			},
		}},
		Answers: []proof.Answer{
			{Question: "R1", Text: "Is it?", Status: "answered",
				Answer: json.RawMessage(`{"b": "<yes>", "a": 18446744073709551615}`)},
			{Question: "R2", Text: "Why?", Status: "not asked", Reason: "it cannot be"},
		},
		Calls: []json.RawMessage{json.RawMessage(`{"function":"FormatVolume"}`)}, CallsLeftOut: 2,
		Cleaned: []string{"user csi1"}, Left: []string{"share csi2"},
	}
}

func written(t testing.TB, r *proof.Report) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := r.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// plain returns what a written report is without its compression.
func plain(t testing.TB, file []byte) string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestWriteThenRead(t *testing.T) {
	file := written(t, sample())
	for name, content := range map[string][]byte{"compressed": file, "plain": []byte(plain(t, file))} {
		got, err := proof.Read(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := sample()
		want.Parts[0].Checks[1].Output[0] = "no \ufffd text"
		if diff := cmp.Diff(plain(t, written(t, got)), plain(t, written(t, want))); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestInvalidReportIsRefused(t *testing.T) {
	text := plain(t, written(t, sample()))
	for name, test := range map[string]struct{ text, want string }{
		"nothing":      {"", "not a report"},
		"another text": {"hello", "not a report"},
		"a list":       {"[]", "not a report"},
		"another schema": {strings.Replace(text, `"schema":1`, `"schema":2`, 1),
			"it has the schema 2, and this program reads 1"},
		"no schema":           {"{}", "it has the schema 0"},
		"something behind it": {text + "{}", "after top-level value"},
		"cut off":             {text[:len(text)/2], "not a report"},
	} {
		if _, err := proof.Read(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	member := new(bytes.Buffer) // gzip reads members one after the other as one file
	compressed := gzip.NewWriter(member)
	_, _ = compressed.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = compressed.Close()
	bomb := bytes.NewReader(bytes.Repeat(member.Bytes(), 41))
	if _, err := proof.Read(bomb); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("41 MiB of spaces: %v", err)
	}
}

// Names are nowhere in a report: in no text, in whatever case, in no member's name of an answer, and in no buffer of a
// recorded call.
func TestNamesAreHidden(t *testing.T) {
	const host, user, domain, serial = "WIN-8KQ2", "gråbo", "corp.example.com", "S3Z9NB0K"
	r := sample()
	texts := []string{host + " and " + strings.ToLower(host), `C:\Users\` + user + `\AppData`, strings.ToUpper(domain),
		"serial " + serial, "S-1-5-21-1-2-3-1001", `"password": "hush"`}
	all := strings.Join(texts, "; ")
	r.Found = append(r.Found, proof.Finding{Name: "x", Text: all})
	r.Parts[0].Reason, r.Parts[0].Output, r.Parts[0].Checks[0].Reason = all, all, all
	r.Parts[0].Checks[1].Output = texts
	r.Parts[0].Checks[0].Methods["disk v1 Rescan"] = all
	r.Left = append(r.Left, `share \\`+host+`\csi`)
	answer, _ := json.Marshal(map[string]any{host: []any{all, map[string]string{"at " + user: domain}}})
	r.Answers[0].Answer, r.Answers[1].Reason = answer, all
	buffer := append([]byte{1, 2, 3, 4}, append(wide(`\\`+host+`\x`), []byte(domain)...)...)
	call, _ := json.Marshal(map[string]any{"out": base64.StdEncoding.EncodeToString(buffer),
		"argument": strings.Join(texts[:5], " ")})
	r.Calls = append(r.Calls, call)

	h := proof.Hidden{Names: map[string]string{host: "HOST", user: "USER", domain: "DOMAIN", "": "EMPTY"},
		Serials: []string{serial, "0", ""}, Salt: []byte("salt")}
	if err := r.Hide(h); err != nil {
		t.Fatal(err)
	}
	text := plain(t, written(t, r))
	for _, hidden := range []string{host, user, domain, serial, "S-1-5-21-1", "hush", "EMPTY"} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(hidden)) {
			t.Errorf("%s is in the report:\n%s", hidden, text)
		}
	}
	for _, kept := range []string{`HOST and HOST`, `C:\\Users\\USER\\AppData`, "S-1-5-21-MACHINE-1001",
		"18446744073709551615"} {
		if want := kept != "18446744073709551615"; strings.Contains(text, kept) != want { // that answer was replaced above
			t.Errorf("%s is not in the report", kept)
		}
	}
	var recorded struct{ Out []byte }
	if err := json.Unmarshal(r.Calls[1], &recorded); err != nil || len(recorded.Out) != len(buffer) {
		t.Errorf("the buffer has %d bytes (%v), want %d as before", len(recorded.Out), err, len(buffer))
	} else if strings.Contains(string(recorded.Out), domain) || bytes.Contains(recorded.Out, wide(host)) {
		t.Errorf("a name is in the buffer %q", recorded.Out)
	}
	hashed := regexp.MustCompile(`serial ([0-9a-f]{8})\b`).FindStringSubmatch(text)
	if len(hashed) == 0 || strings.Count(text, hashed[1]) < 5 {
		t.Errorf("the serial number is not replaced by one hash everywhere: %q", hashed)
	}
}

// Two bytes that are a short name by chance stay in a buffer, and a name of x alone does not hang the reader.
func TestBuffersStay(t *testing.T) {
	r := sample()
	buffer := append([]byte{0, 'V', 'M', 7, 8, 9}, wide("on VM, xxxx")...)
	call, _ := json.Marshal(map[string]any{"out": buffer})
	r.Calls = []json.RawMessage{call}
	if err := r.Hide(proof.Hidden{Names: map[string]string{"VM": "HOST", "xxxx": "USER"}}); err != nil {
		t.Fatal(err)
	}
	var got struct{ Out []byte }
	want := append([]byte{0, 'V', 'M', 7, 8, 9}, wide("on xx, xxxx")...)
	if err := json.Unmarshal(r.Calls[0], &got); err != nil || !bytes.Equal(got.Out, want) {
		t.Errorf("got %q, %v, want %q", got.Out, err, want)
	}
}

// A short name is not looked for within words, and a number in an answer stays what it is.
func TestOtherTextsStay(t *testing.T) {
	r := sample()
	const text = "planned by ann, Ann's, annex, not by hannah"
	r.Parts[0].Reason = text
	if err := r.Hide(proof.Hidden{Names: map[string]string{"Ann": "USER", "calls": "HOST"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Parts[0].Reason, "planned by USER, USER's, annex, not by hannah"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(r.Answers[0].Answer); !strings.Contains(got, "18446744073709551615") {
		t.Errorf("the answer is %s", got)
	}
}

func TestAllHeld(t *testing.T) {
	part := func(v proof.Verdict) proof.Part { return proof.Part{Verdict: v} }
	for name, test := range map[string]struct {
		report proof.Report
		want   bool
	}{
		"all held": {proof.Report{Parts: []proof.Part{part(proof.Held), part(proof.Unavailable), part(proof.NotRun)}},
			true},
		"one failed":         {proof.Report{Parts: []proof.Part{part(proof.Held), part(proof.Failed)}}, false},
		"nothing was tried":  {proof.Report{Parts: []proof.Part{part(proof.Unavailable)}}, false},
		"interrupted":        {proof.Report{Parts: []proof.Part{part(proof.Held)}, Interrupted: true}, false},
		"something was left": {proof.Report{Parts: []proof.Part{part(proof.Held)}, Left: []string{"user csi1"}}, false},
	} {
		if got := test.report.AllHeld(); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	file := written(f, sample())
	f.Add(file)
	f.Add([]byte(plain(f, file)))
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := proof.Read(bytes.NewReader(content))
		if err != nil {
			return
		}
		again, err := proof.Read(bytes.NewReader(written(t, r)))
		if err != nil {
			t.Fatalf("what was read is refused when it is written: %v", err)
		}
		if diff := cmp.Diff(plain(t, written(t, again)), plain(t, written(t, r))); diff != "" {
			t.Errorf("it differs from itself (-got +want):\n%s", diff)
		}
	})
}
