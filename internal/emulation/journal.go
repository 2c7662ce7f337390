// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// journalPart is the most entries of one answer.
const journalPart = 500

// Record records API calls in the journal, except those that read it: following it would never end.
func (h *Harness) Record(c server.RecordedCall) server.CallRecord {
	if c.Method == api.Admin_ListJournal_FullMethodName {
		return nil
	}
	return h.Journal.BeginAPI(c.RequestID, c.Endpoint, c.Method)
}

// ListJournal answers the method of that name.
func (h *Harness) ListJournal(ctx context.Context, r *api.ListJournalRequest) (*api.ListJournalResponse, error) {
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
	waitCtx, cancel := context.WithTimeout(ctx, admin.JournalWait)
	defer cancel()
	for {
		found, err := h.Journal.Find(q)
		if err != nil {
			return nil, &errdefs.Error{Class: errdefs.InvalidArgument, Reason: "INVALID_QUERY", Message: err.Error(), Err: err}
		}
		if r.GetWait() && len(found.Entries) == 0 && h.Journal.Wait(waitCtx, max(found.Searched, found.Newest)) {
			q.After = found.Searched
			continue
		}
		return &api.ListJournalResponse{
			Entries: journal.Messages(found.Entries), Running: journal.Messages(found.Running),
			Newest: found.Newest, Searched: found.Searched,
		}, nil
	}
}
