// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A record is the reports to the Service Control Manager and the Event Log, in order.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *record) report(state State, checkPoint uint32) { r.add("%v %d", state, checkPoint) }

func (r *record) Info(id uint32, text string) error {
	r.add("info %d: %s", id, text)
	return nil
}

func (r *record) Warning(id uint32, text string) error {
	r.add("warning %d: %s", id, text)
	return nil
}

func (r *record) Error(id uint32, text string) error {
	r.add("error %d: %s", id, text)
	return nil
}

// itself is what a test's request means.
func itself(r request) request { return r }

func TestServiceStates(t *testing.T) {
	broken := errors.New("the pipe is taken")
	for _, test := range []struct {
		name string
		task Task
		// requests are made once a second, from three seconds after the start on.
		requests []request
		code     uint32
		want     []string
	}{
		{
			name: "a slow start, a slow stop",
			task: func(stop context.Context, ready func(string)) error {
				time.Sleep(2500 * time.Millisecond)
				ready("23 endpoints")
				<-stop.Done()
				time.Sleep(2 * time.Second)
				return nil
			},
			requests: []request{interrogate, stop},
			want: []string{
				"starting 1", "starting 2",
				"info 1: CSI Proxy is running. 23 endpoints", "running 0",
				"running 0",
				"info 2: CSI Proxy is stopping, as requested from the Service Control Manager.", "stopping 1", "stopping 2",
				"info 3: CSI Proxy stopped.",
			},
		},
		{
			name: "Windows shuts down, and asks twice",
			task: func(stop context.Context, ready func(string)) error {
				ready("")
				<-stop.Done()
				time.Sleep(1500 * time.Millisecond)
				return nil
			},
			requests: []request{shutdown, shutdown},
			want: []string{
				"starting 1", "info 1: CSI Proxy is running. ", "running 0",
				"info 2: CSI Proxy is stopping because Windows is shutting down.", "stopping 1", "stopping 2", "stopping 2",
				"info 3: CSI Proxy stopped.",
			},
		},
		{
			name: "the start fails",
			task: func(context.Context, func(string)) error { return broken },
			code: exitStart,
			want: []string{"starting 1", "error 10: CSI Proxy could not start: the pipe is taken"},
		},
		{
			name: "a listener dies",
			task: func(_ context.Context, ready func(string)) error { ready(""); time.Sleep(time.Hour); return broken },
			code: exitServe,
			want: []string{
				"starting 1", "info 1: CSI Proxy is running. ", "running 0",
				"error 11: CSI Proxy could not go on: the pipe is taken",
			},
		},
		{
			name: "it ends without being told",
			task: func(_ context.Context, ready func(string)) error { ready(""); time.Sleep(time.Minute); return nil },
			code: exitServe,
			want: []string{
				"starting 1", "info 1: CSI Proxy is running. ", "running 0",
				"error 11: CSI Proxy could not go on: it ended by itself",
			},
		},
		{
			name: "a requested stop is not a failure, whatever was cut off",
			task: func(stop context.Context, ready func(string)) error {
				ready("")
				<-stop.Done()
				return errors.New("a format is still running")
			},
			requests: []request{stop},
			want: []string{
				"starting 1", "info 1: CSI Proxy is running. ", "running 0",
				"info 2: CSI Proxy is stopping, as requested from the Service Control Manager.", "stopping 1",
				"warning 4: CSI Proxy stopped, but not cleanly: a format is still running",
			},
		},
		{
			name:     "stopped while it starts",
			task:     func(stop context.Context, ready func(string)) error { <-stop.Done(); ready("late"); return nil },
			requests: []request{stop},
			want: []string{
				"starting 1", "starting 2", "info 2: CSI Proxy is stopping, as requested from the Service Control Manager.",
				"stopping 1",
				"info 3: CSI Proxy stopped.",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := &record{}
				requests, over := make(chan request), make(chan struct{})
				defer close(over)
				go func() {
					for i, r := range test.requests {
						select {
						case <-time.After(time.Second + time.Duration(2100-2100*min(i, 1))*time.Millisecond):
							requests <- r
						case <-over:
						}
					}
				}()
				l := loop{report: told.report, events: told, task: func(stop context.Context, ready func(string)) error {
					return test.task(stop, func(details string) { ready(details); synctest.Wait() })
				}}
				if code := run(l, requests, itself); code != test.code {
					t.Errorf("exit code %d, want %d", code, test.code)
				}
				if diff := cmp.Diff(test.want, told.lines); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// However long something takes, the next report comes before the time that the last one asked for is over.
func TestServiceControlManagerIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last, lastPoint := time.Now(), uint32(0)
		l := loop{events: &record{}, report: func(state State, checkPoint uint32) {
			if waited := time.Since(last); lastPoint > 0 && waited >= hint {
				t.Errorf("%v %d came after %v, and %v were asked for", state, checkPoint, waited, hint)
			}
			if state != Running && checkPoint == lastPoint {
				t.Errorf("%v reports check point %d again", state, checkPoint)
			}
			last, lastPoint = time.Now(), checkPoint
		}}
		requests := make(chan request)
		l.task = func(told context.Context, ready func(string)) error {
			time.Sleep(5 * time.Minute)
			ready("")
			<-told.Done()
			time.Sleep(5 * time.Minute)
			return nil
		}
		go func() { time.Sleep(6 * time.Minute); requests <- stop }()
		run(l, requests, itself)
		if waited := time.Since(last); waited >= hint {
			t.Errorf("the end came after %v, and %v were asked for", waited, hint)
		}
	})
}

func TestEventTextsFitARecord(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "it runs", "it runs"},
		{"a NUL", "a\x00b", "ab"},
		{"not UTF-8", "a\xffb", "ab"},
		{"too long", strings.Repeat("é", 20000), strings.Repeat("é", 15000) + "…"},
	} {
		if diff := cmp.Diff(test.want, eventText(test.text)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}
