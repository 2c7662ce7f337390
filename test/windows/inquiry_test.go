// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// An inquiry is the work of a test, or of a question, on a subject. Its methods make calls and correct nothing. They end it
// where one fails on which the rest depends, so attach is Attach without an error to look at.
type inquiry struct {
	testing.TB // a question's is a recorder
	Subject
	noted any // the answer so far
}

// note makes a map or a pointer the answer of a question, which fills it in.
func note[T any](q *inquiry, answer T) T {
	q.noted = answer
	return answer
}

func (q *inquiry) check(err error) { q.Helper(); check(q, err) }

// A recorder ends a question instead of the test.
type recorder struct {
	testing.TB
	failure error
}

func (r *recorder) Fatal(args ...any) {
	r.failure = errors.New(fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.failure = Unavailable(fmt.Sprint(args...))
	runtime.Goexit()
}
