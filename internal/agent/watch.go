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
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
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

// disturbance lets the faults of an emulated node reach the calls of the API that is to be served.
func (a *Agent) disturbance(endpoints []server.Endpoint) server.Disturbance {
	if a.faults == nil {
		return nil
	}
	var paths []string
	for _, e := range endpoints {
		paths = append(paths, e.Paths()...)
	}
	a.faults.Serve(paths)
	return a.faults
}

// record is who is told of calls: the journal of an emulated node, and the audit log.
func (a *Agent) record() server.Record {
	if a.journal == nil {
		return a.config.Audit
	}
	return server.Records(a.writeDown, a.config.Audit)
}

// writeDown writes API calls down, but not those that ask for the journal: who follows it would never come to an end.
func (a *Agent) writeDown(c server.RecordedCall) server.CallRecord {
	if c.Method == admin.Admin_ListJournal_FullMethodName {
		return nil
	}
	return callRecord{a.journal.BeginAPI(c.RequestID, c.Endpoint, c.Method)}
}

// callRecord is the journal's entry of a call that runs, as the server fills it.
type callRecord struct{ *journal.APICall }

func (c callRecord) Request(request any) {
	if message, ok := request.(proto.Message); ok {
		c.APICall.Request(message)
	}
}

func (c callRecord) End(response any, err error) {
	message, _ := response.(proto.Message)
	if err != nil {
		message = nil
	}
	c.APICall.End(message, err)
}

func (a *Agent) listJournal(ctx context.Context, r *admin.ListJournalRequest) (*admin.ListJournalResponse, error) {
	if a.journal == nil {
		return nil, &node.Error{Class: node.FailedPrecondition, Reason: "NO_JOURNAL", Message: "the agent keeps a journal of an emulated node only"}
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
		found, err := a.journal.Find(q)
		if err != nil {
			return nil, &node.Error{Class: node.InvalidArgument, Reason: "INVALID_QUERY", Message: err.Error(), Err: err}
		}
		if r.GetWait() && len(found.Entries) == 0 && a.journal.Wait(patience, max(found.Searched, found.Newest)) {
			q.After = found.Searched
			continue
		}
		return &admin.ListJournalResponse{
			Entries: journal.Messages(found.Entries), Running: journal.Messages(found.Running),
			Newest: found.Newest, Searched: found.Searched,
		}, nil
	}
}
