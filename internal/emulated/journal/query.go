// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
)

// A Query selects entries. The zero value selects all.
type Query struct {
	After     uint64      // only entries with higher sequence numbers
	Limit     int         // at most this many; 0: all
	Methods   policy.Mask // API calls that the mask selects, and kernel calls made for them
	Function  string      // kernel calls of this function, as kernel.Functions spells it
	Object    string      // calls that name this text, in any case: in the object, the arguments or the request
	RequestID string      // one API call and the kernel calls made for it
	Failed    bool        // only calls that failed, which a running one has not
	Since     time.Time   // only calls that began then or later
}

// Found is the answer to a Query.
type Found struct {
	Entries  []Entry // by sequence number
	Running  []Entry // calls that have not ended, by begin, with their durations so far
	Searched uint64  // the sequence number up to which all entries were examined
	Newest   uint64  // of all entries
}

// Find returns the entries that a query selects; old ones may be gone.
func (j *Journal) Find(q Query) Found {
	j.mu.Lock()
	ring, newest := slices.Clone(j.ring), j.newest
	snapshots := j.running.All()
	j.mu.Unlock()

	var running []*Entry
	for _, s := range snapshots {
		s.Value.Begin, s.Value.Duration = s.Since, time.Since(s.Since)
		running = append(running, &s.Value)
	}
	wanted := q.filter(slices.Concat(ring, running))
	found := Found{Newest: newest, Searched: q.After}
	after := q.After
	if size := uint64(len(ring)); newest > size {
		after = max(after, newest-size)
	}
	for n := after + 1; n <= newest && n > after; n++ {
		if q.Limit > 0 && len(found.Entries) == q.Limit {
			break
		}
		if e := ring[n%uint64(len(ring))]; wanted(e) {
			found.Entries = append(found.Entries, *e)
		}
		found.Searched = n
	}
	for _, e := range running {
		if wanted(e) {
			found.Running = append(found.Running, *e)
		}
	}
	return found
}

// filter returns a function that reports whether the query selects an entry. It needs all entries, because only an API
// call's own entry has its method.
func (q Query) filter(all []*Entry) func(*Entry) bool {
	ofMethod := map[string]bool{} // by request id
	selects := q.Methods != policy.Mask{}
	if selects {
		for _, e := range all {
			if e != nil && q.Methods.Match(e.Method) {
				ofMethod[e.RequestID] = true
			}
		}
	}
	object := strings.ToLower(q.Object)
	return func(e *Entry) bool {
		switch {
		case selects && !ofMethod[e.RequestID]:
		case q.Function != "" && q.Function != e.Function:
		case q.RequestID != "" && q.RequestID != e.RequestID:
		case q.Failed && e.Err == nil:
		case e.Begin.Before(q.Since):
		default:
			return object == "" || strings.Contains(strings.ToLower(e.named()), object)
		}
		return false
	}
}

// named returns the text of a call in which Query.Object is looked for.
func (e *Entry) named() string {
	if e.Function != "" {
		return e.Object + "\n" + e.arguments()
	}
	return strings.ReplaceAll(requestText(e.Request, e.TooLarge), `\\`, `\`) // people write paths as they are, not as JSON
}
