// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"slices"
	"strings"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

// Find returns the entries that a request selects, at most as many as its limit, unless that is 0; old ones may be
// gone. It does not wait. A function or a method that there is not is an error.
func (j *Journal) Find(r *nodeapi.ListJournalRequest) (*nodeapi.ListJournalResponse, error) {
	function, methods, err := faults.ParseCalls(r.GetFunction(), r.GetMethod())
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	ring, newest := slices.Clone(j.ring), j.newest
	var running []*entry
	j.running.Each(func(since time.Time, e *entry) {
		one := *e
		one.begin, one.duration = since, time.Since(since)
		running = append(running, &one)
	})
	j.mu.Unlock()

	ofMethod := ofMethods(methods, slices.Concat(ring, running))
	object := strings.ToLower(r.GetObject())
	wanted := func(e *entry) bool {
		switch {
		case r.GetMethod() != "" && !ofMethod[e.requestID]:
		case function != "" && function != e.Function:
		case r.GetRequestId() != "" && r.GetRequestId() != e.requestID:
		case r.GetFailed() && e.err == nil: // a running call has not failed
		case e.begin.Before(r.GetSince().AsTime()):
		default:
			return object == "" || strings.Contains(strings.ToLower(e.named()), object)
		}
		return false
	}
	found := &nodeapi.ListJournalResponse{Newest: newest, Searched: r.GetAfter()}
	after, size := r.GetAfter(), uint64(len(ring))
	if newest > size {
		after = max(after, newest-size)
	}
	for n := after + 1; n <= newest && n > after; n++ {
		if limit := int(r.GetLimit()); limit > 0 && len(found.GetEntries()) == limit {
			break
		}
		if e := ring[n%size]; wanted(e) {
			found.Entries = append(found.Entries, e.message())
		}
		found.Searched = n
	}
	for _, e := range running {
		if wanted(e) {
			found.Running = append(found.Running, e.message())
		}
	}
	return found, nil
}

// ofMethods returns the request ids of the API calls that a mask selects. Only an API call's own entry has its method.
func ofMethods(mask policy.Mask, all []*entry) map[string]bool {
	ids := map[string]bool{}
	for _, e := range all {
		if e != nil && mask.Match(e.method) {
			ids[e.requestID] = true
		}
	}
	return ids
}

// named returns the text of a call in which a request's object is looked for.
func (e *entry) named() string {
	if e.Function != "" {
		return e.Object + "\n" + e.arguments()
	}
	return strings.ReplaceAll(e.request.text(), `\\`, `\`) // people write paths as they are, not as JSON
}
