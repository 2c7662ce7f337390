// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/redact"
)

// An Entry is one call: a kernel call where Function is set, else one of the API.
type Entry struct {
	Sequence  uint64 // from 1, in the order in which calls end; 0: it has not ended
	Begin     time.Time
	Duration  time.Duration
	RequestID string
	Err       error

	Endpoint      string        // of the API call
	Method        string        // its full method
	Request       proto.Message // masked; nil: none was read
	TooLarge      int           // bytes of a request that was not kept
	Response      proto.Message // not masked yet; nil: there was none, or it was not kept
	LargeResponse int           // bytes of a response that was not kept

	kernel.Call
}

// errPanic is the outcome of a kernel call that panicked.
var errPanic = errors.New("panic")

// A Journal keeps the newest entries and those of the calls that run. It is safe for concurrent use.
type Journal struct {
	requestID func(context.Context) string
	masks     redact.Masks

	mu      sync.Mutex
	ring    []*running // the call with the sequence number n is at n modulo its length; none of them changes any more
	newest  uint64
	running list
	changed chan struct{} // closed at the next entry; nil when nobody waits
	closed  bool
}

// New makes a journal of a number of entries. The function finds the request id in the context of a kernel call.
func New(size int, requestID func(context.Context) string) *Journal {
	return &Journal{requestID: requestID, ring: make([]*running, size)}
}

// begin takes up a call that runs.
func (j *Journal) begin(r *running) {
	r.entry.Begin = time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running.add(r)
}

// end makes an entry of a call that ran.
func (j *Journal) end(r *running, response proto.Message, err error) {
	took := time.Since(r.entry.Begin)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running.remove(r)
	j.newest++
	r.entry.Sequence, r.entry.Duration, r.entry.Response, r.entry.Err = j.newest, took, response, err
	j.ring[j.newest%uint64(len(j.ring))] = r
	j.wake()
}

func (j *Journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// An APICall is an API call that runs.
type APICall struct {
	journal *Journal
	running running
}

// BeginAPI takes up an API call.
func (j *Journal) BeginAPI(requestID, endpoint, method string) *APICall {
	c := &APICall{journal: j, running: running{entry: Entry{RequestID: requestID, Endpoint: endpoint, Method: method}}}
	j.begin(&c.running)
	return c
}

// Request takes the call's request, masked, once it is known. Nobody may change the message any more.
func (c *APICall) Request(request proto.Message) {
	kept, tooLarge := c.journal.masks.Mask(request)
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	c.running.entry.Request, c.running.entry.TooLarge = kept, tooLarge
}

// End takes the call's outcome, once. Nobody may change the response any more; nil: there is none.
func (c *APICall) End(response proto.Message, err error) {
	if response != nil {
		if size := proto.Size(response); size > redact.MaxSize { // the list of a large node's disks; thousands may come
			c.journal.mu.Lock()
			c.running.entry.LargeResponse = size
			c.journal.mu.Unlock()
			response = nil
		}
	}
	c.journal.end(&c.running, response, err)
}

// Intercept is the kernel.Interceptor.
func (j *Journal) Intercept(ctx context.Context, call kernel.Call, do func() error) error {
	call.Input = slices.Clone(call.Input[:min(len(call.Input), redact.MaxSize)])
	r := &running{entry: Entry{RequestID: j.requestID(ctx), Call: call}}
	j.begin(r)
	err := errPanic
	defer func() { j.end(r, nil, err) }()
	err = do()
	return err
}

// Wait returns when there is an entry after a sequence number, the context ends or the journal is closed, and tells
// whether there is one.
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
