// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"flag"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest/internal/transcript"
	adminserver "github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// Journal returns the agent's last calls, some thousand entries: the API calls and, before each of them, the kernel
// calls that were made for it and have its request id. Secrets are masked. Calls that have not ended come last.
func (n *Node) Journal() []*nodeapi.JournalEntry {
	n.t.Helper()
	return n.Find(Query{})
}

// Query selects a part of the journal. The zero value selects all of it. A Method or a Function that Windows and the
// API do not have ends the test.
type Query struct {
	// After selects entries after a sequence number, which Newest returned before.
	After uint64
	// Method selects API calls, and the kernel calls that were made for them: a mask as in Calls.
	Method string
	// Function selects calls of a kernel function.
	Function string
	// Object selects calls that contain this text, in any case: a path, a volume's id, a serial number.
	Object string
	// RequestID selects one API call with its kernel calls.
	RequestID string
	// Failed selects calls that failed.
	Failed bool
}

// Find returns the part of Journal that a query selects.
func (n *Node) Find(q Query) []*nodeapi.JournalEntry {
	n.t.Helper()
	found, err := n.emulation().Journal.Find(&nodeapi.ListJournalRequest{After: q.After, Method: q.Method,
		Function: q.Function, Object: q.Object, RequestId: q.RequestID, Failed: q.Failed})
	n.must("searching the journal", err)
	return slices.Concat(found.GetEntries(), found.GetRunning())
}

// Newest returns the sequence number of the journal's newest entry. Query.After finds later ones.
func (n *Node) Newest() uint64 {
	n.t.Helper()
	return n.emulation().Journal.Newest()
}

// JournalText returns the journal as lines for people.
func (n *Node) JournalText() string { return journalText(n.Journal()) }

func journalText(entries []*nodeapi.JournalEntry) string {
	var text strings.Builder
	for _, e := range entries {
		text.WriteString(journal.Line(e) + "\n")
	}
	return text.String()
}

// context returns the context of this package's own questions, whose log lines go where the agent's go.
func (n *Node) context() context.Context {
	if n.logger.GetSink() == nil {
		return context.Background()
	}
	return klog.NewContext(context.Background(), n.logger)
}

// Facts returns the node's storage: the disks by number, with their partitions, and the volumes, whose extents say on
// which partitions they lie. Gaps name what is not known.
func (n *Node) Facts() *admin.GetFactsResponse {
	n.t.Helper()
	facts, err := n.facts(n.context())
	n.must("looking at the disks and volumes", err)
	return facts
}

// facts asks an emulated node past its admin endpoint, whose calls are in the journal.
func (n *Node) facts(ctx context.Context) (*admin.GetFactsResponse, error) {
	if n.emulated != nil {
		node, err := n.emulated.Node()
		if err != nil {
			return nil, err
		}
		return adminserver.FactsOf(ctx, node, treeview.Parts()...), nil
	}
	client, err := adminclient.DialPath(ctx, n.agent.Path(adminserver.EndpointName))
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	return client.GetFacts(ctx, &admin.GetFactsRequest{Parts: treeview.Parts()})
}

var updateJournals = flag.Bool("csiproxytest.update", false,
	"write the files of AssertJournal instead of comparing with them")

// JournalPart selects the part of the journal that AssertJournal compares. The zero value is all API calls of the
// node's life, without kernel calls.
type JournalPart struct {
	// After selects calls after a sequence number, which Newest returned before.
	After uint64
	// Method selects API calls: a mask as in Calls.
	Method string
	// Kernel adds the Windows functions that were called for each API call. They may change with each version of the
	// agent.
	Kernel bool
}

// AssertJournal compares the API calls that the node answered with those in a file, and reports the difference as an
// error of the test. The file has a line for each call with its request and outcome, in which placeholders such as
// <volume 1> stand for whatever differs from run to run; lines that begin with # are remarks. The flag
// -csiproxytest.update of the test writes the file:
//
//	go test ./node -run TestStage -csiproxytest.update
func (n *Node) AssertJournal(file string, part JournalPart) {
	n.t.Helper()
	entries := n.Find(Query{After: part.After, Method: part.Method})
	if part.Method == "" {
		n.must("asserting the journal", transcript.Complete(entries, part.After))
	}
	difference, err := transcript.Compare(file, transcript.Text(entries, part.Kernel), *updateJournals)
	n.must("comparing the journal", err)
	if difference != "" {
		n.t.Errorf("the calls differ from those in %s; if they are meant to, run the test with -csiproxytest.update\n%s",
			file, difference)
	}
}
