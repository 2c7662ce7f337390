// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/node"
)

const (
	journalEntries  = 4096             // what the journal keeps: some hundred API calls with their kernel calls
	journalPart     = 500              // what one answer has at most
	journalPatience = 30 * time.Second // how long ListJournal waits
)

// watch sets up the journal and the faults of an emulated node. A real one has neither, and its calls pay nothing.
func (a *Agent) watch() {
	if a.emulated == nil {
		return
	}
	a.journal = journal.New(journalEntries, server.RequestID)
	a.faults = faults.New(a.config.Crash)
	a.config.Interceptor = kernel.Chain(a.journal.Intercept, a.config.Interceptor, a.faults.Intercept)
}

// Journal is the journal of an emulated node, nil when the agent works on a real one.
func (a *Agent) Journal() *journal.Journal { return a.journal }

// Faults are the faults of an emulated node, nil when the agent works on a real one.
func (a *Agent) Faults() *faults.Set { return a.faults }

// record writes API calls down, but not those that ask for the journal: who follows it would never come to an end.
func (a *Agent) record() server.Record {
	if a.journal == nil {
		return nil
	}
	return func(c server.RecordedCall) (request func(any), end func(error)) {
		if c.Method == admin.Admin_ListJournal_FullMethodName {
			return func(any) {}, func(error) {}
		}
		call := a.journal.BeginAPI(c.RequestID, c.Endpoint, c.Method)
		return func(r any) {
			if message, ok := r.(proto.Message); ok {
				call.Request(message)
			}
		}, call.End
	}
}

func (a *Agent) listJournal(ctx context.Context, r *admin.ListJournalRequest) (*admin.ListJournalResponse, error) {
	if a.journal == nil {
		return nil, &node.Error{Class: node.FailedPrecondition, Reason: "NO_JOURNAL", Message: "the agent keeps a journal of an emulated node only"}
	}
	limit := int(min(r.GetLimit(), journalPart))
	if limit == 0 {
		limit = journalPart
	}
	if r.GetWait() {
		patience, cancel := context.WithTimeout(ctx, journalPatience)
		defer cancel()
		a.journal.Wait(patience, r.GetAfter())
	}
	entries, newest := a.journal.Since(r.GetAfter(), limit)
	return &admin.ListJournalResponse{
		Entries: journal.Messages(entries), Newest: newest, Running: journal.Messages(a.journal.Running()),
	}, nil
}
