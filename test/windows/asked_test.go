// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// within asks a question. One that hangs or panics fails, and takes no other answer with it.
func (q Question) within(t testing.TB, limit time.Duration, subject func() Subject) Answer {
	t.Helper()
	answers := make(chan Answer, 1)
	go func() {
		answer := Answer{Status: "failed", Reason: "it ended the test"}
		defer func() {
			if broken := recover(); broken != nil {
				answer.Reason = fmt.Sprintf("panic: %v", broken)
			}
			answers <- answer
		}()
		answer = q.Ask(t, subject())
	}()
	select {
	case answer := <-answers:
		return answer
	case <-time.After(limit):
		return Answer{Status: "failed", Reason: fmt.Sprintf("it did not end in %v", limit)}
	}
}

// passing matches what differs from one time to the next: durations, and names of tests' things.
var passing = regexp.MustCompile(`[0-9.]+(ns|µs|ms|s)\b|csiproxy-[0-9a-f]{10}|\b[A-Z2-7]{26}\b|` +
	`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// alike reports whether two answers are the same but for what passes.
func alike(a, b Answer) bool {
	return passing.ReplaceAllString(a.String(), "…") == passing.ReplaceAllString(b.String(), "…")
}

// A question that hangs, panics or ends its test loses no answer but its own.
func TestQuestionsAreAskedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		for want, ask := range map[string]func() (any, error){
			"failed: <nil> panic: broken":          func() (any, error) { panic("broken") },
			"failed: <nil> it did not end in 1m0s": func() (any, error) { <-hang; return nil, nil },
			"failed: <nil> it ended the test":      func() (any, error) { runtime.Goexit(); return nil, nil },
			"not asked: <nil> no machine":          func() (any, error) { return nil, Unavailable("no machine") },
			"answered: 42":                         func() (any, error) { return 42, nil },
		} {
			q := Question{ask: func(testing.TB, Subject) (any, error) { return ask() }}
			same(t, q.within(t, time.Minute, func() Subject { return Subject{} }).String(), want)
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
