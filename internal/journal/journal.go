// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// An Entry is one call: a kernel call where Function is set, else one of the API.
type Entry struct {
	Sequence  uint64 // from 1, in the order in which calls end; 0: it has not ended
	Begin     time.Time
	Duration  time.Duration
	RequestID string
	Err       error

	Endpoint string        // of the API call
	Method   string        // its full method
	Request  proto.Message // masked; nil: none was read
	TooLarge int           // bytes of a request that was not kept

	kernel.Call
}

// errPanic is the outcome of a kernel call that panicked.
var errPanic = errors.New("panic")

// A Journal keeps the newest entries and those of the calls that run. It is safe for concurrent use.
type Journal struct {
	requestID func(context.Context) string

	mu      sync.Mutex
	ring    []Entry // the entry with the sequence number n is at n modulo its length
	newest  uint64
	running map[*Entry]struct{}
	changed chan struct{} // closed at the next entry; nil when nobody waits
	closed  bool
}

// New makes a journal of a number of entries. The function finds the request id in the context of a kernel call.
func New(size int, requestID func(context.Context) string) *Journal {
	return &Journal{requestID: requestID, ring: make([]Entry, size), running: map[*Entry]struct{}{}}
}

// begin takes up a call that runs.
func (j *Journal) begin(e *Entry) {
	e.Begin = time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.running[e] = struct{}{}
}

// end makes an entry of a call that ran.
func (j *Journal) end(e *Entry, err error) {
	took := time.Since(e.Begin)
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.running, e)
	j.newest++
	e.Sequence, e.Duration, e.Err = j.newest, took, err
	j.ring[j.newest%uint64(len(j.ring))] = *e
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
	entry   *Entry
}

// BeginAPI takes up an API call.
func (j *Journal) BeginAPI(requestID, endpoint, method string) APICall {
	e := &Entry{RequestID: requestID, Endpoint: endpoint, Method: method}
	j.begin(e)
	return APICall{j, e}
}

// Request takes a masked copy of the call's request, once it is known.
func (c APICall) Request(request proto.Message) {
	kept, tooLarge := mask(request)
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	c.entry.Request, c.entry.TooLarge = kept, tooLarge
}

// End takes the call's outcome, once.
func (c APICall) End(err error) { c.journal.end(c.entry, err) }

// Intercept is the kernel.Interceptor.
func (j *Journal) Intercept(ctx context.Context, call kernel.Call, do func() error) error {
	e := &Entry{RequestID: j.requestID(ctx), Call: call}
	j.begin(e)
	err := errPanic
	defer func() { j.end(e, err) }()
	err = do()
	return err
}

// Since returns the entries after a sequence number, at most so many, and the newest number. Older ones may be gone.
func (j *Journal) Since(after uint64, limit int) (entries []Entry, newest uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if size := uint64(len(j.ring)); j.newest > size {
		after = max(after, j.newest-size)
	}
	for n := after + 1; n <= j.newest && n > after && len(entries) < limit; n++ {
		entries = append(entries, j.ring[n%uint64(len(j.ring))])
	}
	return entries, j.newest
}

// Running returns the entries of the calls that have not ended, by their begin, with their durations until now.
func (j *Journal) Running() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := make([]Entry, 0, len(j.running))
	for e := range j.running {
		entry := *e
		entry.Duration = time.Since(e.Begin)
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Or(a.Begin.Compare(b.Begin), cmp.Compare(a.RequestID, b.RequestID)) })
	return entries
}

// Wait returns when there is an entry after a sequence number, the context ends or the journal is closed.
func (j *Journal) Wait(ctx context.Context, after uint64) {
	for {
		j.mu.Lock()
		if j.newest > after || j.closed {
			j.mu.Unlock()
			return
		}
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
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
