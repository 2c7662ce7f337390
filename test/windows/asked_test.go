// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
)

// passing matches what differs from one time to the next: durations, and names of tests' things and of devices.
var passing = regexp.MustCompile(`[0-9.]+(ns|µs|ms|s)\b|csiproxy-[0-9a-f]{10}|\b[A-Z2-7]{26}\b|` +
	`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|&[0-9a-f]{2,16}&0&`)

// alike reports whether two answers are the same but for what passes.
func alike(a, b Answer) bool {
	return passing.ReplaceAllString(a.String(), "…") == passing.ReplaceAllString(b.String(), "…")
}

// A question that hangs, panics or ends its test loses no answer but its own.
func TestQuestionsAreAskedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		for want, ask := range map[string]func(q *inquiry){
			"failed: half panic: broken":            func(q *inquiry) { q.noted = "half"; panic("broken") },
			"failed: <nil> it did not end in 4m0s":  func(*inquiry) { <-hang },
			"failed: <nil> it ended the test":       func(*inquiry) { runtime.Goexit() },
			"failed: half ERROR_NOT_READY":          func(q *inquiry) { q.noted = "half"; q.check(errors.New("ERROR_NOT_READY")) },
			"not asked: <nil> two nodes are needed": unasked(98, "?", "two nodes are needed").ask,
			"answered: 42":                          func(q *inquiry) { q.noted = 42 },
		} {
			same(t, Question{ask: ask}.Ask(t, Subject{}).String(), want)
		}
	})
}

// Answers are alike if they differ in nothing that a switch could decide.
func TestAnswersAreCompared(t *testing.T) {
	answer := func(text string) Answer { return Answer{Status: "answered", Answer: text} }
	same(t, []bool{
		alike(answer("ERROR_BUSY in 17ms at csiproxy-0123456789"), answer("ERROR_BUSY in 1.5s at csiproxy-abcdef0123")),
		alike(answer("ERROR_BUSY in 17ms"), answer("success in 17ms")), alike(answer("40"), answer("16")),
	}, []bool{true, false, false})
}
