// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

const (
	journalPart     = 500              // the most entries of one answer
	journalPatience = 30 * time.Second // how long ListJournal waits
)

// Record records API calls in the journal, except those that read it: following it would never end.
func (e Emulation) Record(c server.RecordedCall) server.CallRecord {
	if c.Method == api.Admin_ListJournal_FullMethodName {
		return nil
	}
	return e.Journal.BeginAPI(c.RequestID, c.Endpoint, c.Method)
}

// ListJournal answers the method of that name.
func (e Emulation) ListJournal(ctx context.Context, r *api.ListJournalRequest) (*api.ListJournalResponse, error) {
	if e.Journal == nil {
		return nil, &node.Error{Class: node.FailedPrecondition, Reason: "NO_JOURNAL", Message: "only an agent with an emulated node keeps a journal"}
	}
	limit := int(min(r.GetLimit(), journalPart))
	if limit == 0 {
		limit = journalPart
	}
	q := journal.Query{
		After: r.GetAfter(), Limit: limit, Methods: r.GetMethod(), Function: r.GetFunction(), Object: r.GetObject(),
		RequestID: r.GetRequestId(), Failed: r.GetFailed(),
	}
	if r.GetSince() != nil {
		q.Since = r.GetSince().AsTime()
	}
	patience, cancel := context.WithTimeout(ctx, journalPatience)
	defer cancel()
	for {
		found, err := e.Journal.Find(q)
		if err != nil {
			return nil, &node.Error{Class: node.InvalidArgument, Reason: "INVALID_QUERY", Message: err.Error(), Err: err}
		}
		if r.GetWait() && len(found.Entries) == 0 && e.Journal.Wait(patience, max(found.Searched, found.Newest)) {
			q.After = found.Searched
			continue
		}
		return &api.ListJournalResponse{
			Entries: journal.Messages(found.Entries), Running: journal.Messages(found.Running),
			Newest: found.Newest, Searched: found.Searched,
		}, nil
	}
}
