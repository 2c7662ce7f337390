// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// questionVariable names the environment variable with the one question that a process asks.
const questionVariable = "CSI_PROXY_QUESTION"

// askApart puts each question in a process of its own, which is this program with the same test. None finds what
// another one enabled or opened, and one that crashes, or does not end within its limit, takes no other answer with it.
func askApart(t *testing.T, questions []Question, record Record, limit time.Duration,
	subject func(t *testing.T) Subject) {
	t.Helper()
	path := os.Getenv(AnswersVariable)
	if path == "" {
		path = filepath.Join(t.TempDir(), "answers.json")
	}
	if name := os.Getenv(questionVariable); name != "" {
		for _, q := range questions {
			if q.name() == name {
				askHere(t, q, path, subject)
			}
		}
		return
	}
	for _, q := range questions {
		t.Run(q.name(), func(t *testing.T) {
			begun := Answer{Question: q.name(), Text: q.Text, Status: "failed",
				Reason: "it was begun, and nothing came after: the kit or the machine stopped"}
			if err := record.put(path, begun); err != nil {
				t.Fatal(err)
			}
			out, err := askInAnother(t, q, path, limit)
			if read, e := readRecord(path); e == nil {
				record = read
			}
			answer := record.Answers[len(record.Answers)-1]
			if answer.Reason == begun.Reason {
				answer.Reason = fmt.Sprintf("its process ended without an answer: %v: %s", err, end(out))
				if err := record.put(path, answer); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%s: %+v %s", answer.Status, answer.Answer, answer.Reason)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func (q Question) name() string { return fmt.Sprintf("R%d", q.Number) }

// askHere asks a question, and writes its answer down before what the question made is removed.
func askHere(t *testing.T, q Question, path string, subject func(t *testing.T) Subject) {
	t.Helper()
	record, err := readRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.put(path, q.Ask(t, subject(t))); err != nil {
		t.Fatal(err)
	}
}

// askInAnother has another process ask a question. When it must be killed, what it left is removed, so that the next
// question finds the machine as it was.
func askInAnother(t *testing.T, q Question, path string, limit time.Duration) (out []byte, err error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	late := fmt.Errorf("it did not end in %v", limit)
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, late)
	defer cancel()
	c := exec.CommandContext(ctx, program, "-test.run=^"+t.Name()[:strings.LastIndex(t.Name(), "/")]+"$",
		"-test.count=1", "-test.timeout=0")
	c.Env = append(os.Environ(), questionVariable+"="+q.name(), AnswersVariable+"="+path)
	c.WaitDelay = 10 * time.Second // for the output of what it started
	l, err := inherited()
	if err != nil {
		return nil, err
	}
	before := l.Remaining()
	out, err = c.CombinedOutput()
	if err == nil {
		return out, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	_, left := l.Clean(ctx, before...)
	return out, errors.Join(err, left)
}

// end returns the last lines of an output in one.
func end(out []byte) string {
	lines := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-20):], "; ")
}

// endings are questions that end in each way. The panic is in a goroutine of its own: no test survives that.
func endings() []Question {
	answers := func(testing.TB, Subject) (any, error) { return "42", nil }
	return []Question{
		{1, "answered", answers},
		{2, "crashes", func(testing.TB, Subject) (any, error) {
			go panic("the question breaks its process")
			select {}
		}},
		{3, "not here", func(testing.TB, Subject) (any, error) { return nil, Unavailable("a machine is missing") }},
		{4, "fails while it cleans up", func(t testing.TB, _ Subject) (any, error) {
			t.Cleanup(func() { t.Error("left on this machine") })
			return "43", nil
		}},
	}
}

func noSubject(*testing.T) Subject { return Subject{} }

// TestQuestionInChildProcess and TestHangInChildProcess are what TestQuestionsRunInChildProcesses runs: two of their
// questions fail them.
func TestQuestionInChildProcess(t *testing.T) {
	require(t, "TestQuestionsRunInChildProcesses")
	askApart(t, endings(), Record{}, time.Minute, noSubject)
}

func TestHangInChildProcess(t *testing.T) {
	require(t, "TestQuestionsRunInChildProcesses")
	hang := func(testing.TB, Subject) (any, error) { time.Sleep(time.Hour); return nil, nil }
	askApart(t, []Question{{5, "hangs", hang}, {6, "comes too late", hang}}, Record{}, 200*time.Millisecond, noSubject)
}

// require skips a test that only another one runs.
func require(t *testing.T, by string) {
	t.Helper()
	if os.Getenv("CSI_PROXY_TEST_ASKED_BY") != by {
		t.Skip("require " + by)
	}
}

// A question that crashes, fails or hangs loses no answer but its own.
func TestQuestionsRunInChildProcesses(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for test, want := range map[string][]string{
		"TestQuestionInChildProcess": {
			"R1 answered 42 ", "R2 failed <nil> its process ended without an answer: exit status 2: panic: the question " +
				"breaks its process", "R3 not asked <nil> a machine is missing",
			"R4 answered 43 ",
		},
		"TestHangInChildProcess": {
			"R5 failed <nil> its process ended without an answer: it did not end in 200ms",
			"R6 failed <nil> its process ended without an answer: it did not end in 200ms",
		},
	} {
		path := filepath.Join(t.TempDir(), "answers.json")
		c := exec.CommandContext(t.Context(), program, "-test.run=^"+test+"$", "-test.count=1")
		c.Env = append(os.Environ(), "CSI_PROXY_TEST_ASKED_BY="+t.Name(), AnswersVariable+"="+path, questionVariable+"=")
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("%s held, though questions crashed or hung", test)
		}
		record, err := readRecord(path)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got []string
		for i, a := range record.Answers {
			text := fmt.Sprintf("%s %s %v %s", a.Question, a.Status, a.Answer, a.Reason)
			if i < len(want) && len(text) > len(want[i]) {
				text = text[:len(want[i])]
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s\n%s", test, diff, out)
		}
	}
}
