// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/redact"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
)

// An entry is one call: a kernel call if Function is set, otherwise an API call. Its message is made when it is asked
// for.
type entry struct {
	sequence  uint64 // from 1, in the order in which calls end; 0: it has not ended
	begin     time.Time
	duration  time.Duration
	requestID string
	err       error

	endpoint string // of the API call
	method   string // its full method
	request  body   // masked
	response body   // not masked yet

	kernel.Call
}

// A body is a request or a response, or the number of its bytes if it was not kept. The zero value is none.
type body struct {
	message  proto.Message
	tooLarge int
}

// errPanic is the outcome of a kernel call that panicked.
var errPanic = errors.New("panic")

// A Journal keeps the newest entries and those of running calls. It is safe for concurrent use.
type Journal struct {
	requestID func(context.Context) string

	running running.Set[entry] // their begin is the set's Since

	mu      sync.Mutex
	ring    []*entry // the call with sequence number n is at n modulo its length; entries in it never change
	newest  uint64
	changed chan struct{} // closed at the next entry; nil without waiters
	closed  bool
}

// New returns a journal of size entries. The function returns the request id in the context of a kernel call.
func New(size int, requestID func(context.Context) string) *Journal {
	return &Journal{requestID: requestID, ring: make([]*entry, size)}
}

// end turns a running call into an entry. Under the mutex a call is always either running or ended.
func (j *Journal) end(call *running.Entry[entry], outcome func(*entry)) {
	took := time.Since(call.Since)
	j.mu.Lock()
	defer j.mu.Unlock()
	e := call.Remove()
	outcome(&e)
	j.newest++
	e.sequence, e.begin, e.duration = j.newest, call.Since, took
	j.ring[j.newest%uint64(len(j.ring))] = &e
	j.wake()
}

func (j *Journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// An APICall is a running API call.
type APICall struct {
	journal *Journal
	running *running.Entry[entry]
}

// BeginAPI records an API call that begins.
func (j *Journal) BeginAPI(requestID, endpoint, method string) *APICall {
	return &APICall{journal: j, running: j.running.Add(entry{requestID: requestID, endpoint: endpoint, method: method})}
}

// Request records a masked copy of the call's request, once it is known.
func (c *APICall) Request(request proto.Message) {
	var kept body
	kept.message, kept.tooLarge = redact.Mask(request)
	c.running.Update(func(e *entry) { e.request = kept })
}

// End records the call's outcome; it is called once. The response, nil if there is none, must not change afterwards.
func (c *APICall) End(response proto.Message, err error) {
	kept := body{message: response}
	if size := proto.Size(response); size > redact.MaxSize { // a list of a large node's disks: thousands may come
		kept = body{tooLarge: size}
	}
	c.journal.end(c.running, func(e *entry) { e.response, e.err = kept, err })
}

// Intercept is the kernel.Interceptor.
func (j *Journal) Intercept(ctx context.Context, call kernel.Call, do func() error) error {
	call.Input = slices.Clone(call.Input[:min(len(call.Input), redact.MaxSize)])
	call.Output = nil // it would keep the caller's buffer
	r := j.running.Add(entry{requestID: j.requestID(ctx), Call: call})
	err := errPanic
	defer func() { j.end(r, func(e *entry) { e.err = err }) }()
	err = do()
	return err
}

// Newest returns the sequence number of the newest entry.
func (j *Journal) Newest() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.newest
}

// Wait returns when there is an entry after a sequence number, the context ends or the journal is closed. It reports
// whether there is such an entry.
func (j *Journal) Wait(ctx context.Context, after uint64) bool {
	for {
		j.mu.Lock()
		if there := j.newest > after; there || j.closed {
			j.mu.Unlock()
			return there
		}
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Close ends all waiting, now and later. Entries are still taken.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.wake()
}
