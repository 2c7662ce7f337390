// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

const (
	// journalEntries is the size of the journal: some hundred API calls with their kernel calls.
	journalEntries = 4096
	// journalPart is the most entries of one answer.
	journalPart = 500
	// journalWait is how long ListJournal waits for an entry.
	journalWait = 30 * time.Second
)

// record records API calls in the journal, except those that read it: following it would never end.
func (a *Agent) record(c server.CallInfo) server.Record {
	if c.Method == api.EmulatedNode_ListJournal_FullMethodName {
		return nil
	}
	return a.Journal.BeginAPI(c.RequestID, c.Endpoint, c.Method)
}

// ListJournal answers the method of that name.
func (a *Agent) ListJournal(ctx context.Context, r *api.ListJournalRequest) (*api.ListJournalResponse, error) {
	r = proto.CloneOf(r)
	r.Limit = cmp.Or(min(r.GetLimit(), journalPart), journalPart)
	waitCtx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	for {
		found, err := a.Journal.Find(r)
		if err != nil {
			return nil, errdefs.InvalidArgument.WrapErrorf(err, "INVALID_QUERY", "%v", err)
		}
		if !r.GetWait() || len(found.GetEntries()) > 0 ||
			!a.Journal.Wait(waitCtx, max(found.GetSearched(), found.GetNewest())) {
			return found, nil
		}
		r.After = found.GetSearched()
	}
}
