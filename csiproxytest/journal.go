// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	adminserver "github.com/kubernetes-csi/csi-proxy/internal/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// reportLimit is how long the report of a failed test may take: the node may hang, perhaps just because the test wanted it.
const reportLimit = 10 * time.Second

// Journal is what the agent did last, some thousand entries: the API calls and, before each of them, the kernel calls
// that were made for it and have its request id. Secrets are masked. Calls that have not ended come last.
func (n *Node) Journal() []*admin.JournalEntry {
	n.t.Helper()
	return n.Find(Query{})
}

// Query says which part of the journal is wanted. Its zero value wants all.
type Query struct {
	// After wants what came after a sequence number, as Newest gave it before.
	After uint64
	// Method wants API calls, and the kernel calls that were made for them: a mask as in Calls.
	Method string
	// Function wants the calls of a kernel function.
	Function string
	// Object wants calls that name this text, in any case: a path, a volume's id, a serial number.
	Object string
	// RequestID wants one API call with its kernel calls.
	RequestID string
	// Failed wants calls that failed.
	Failed bool
}

// Find is the part of Journal that a query wants.
func (n *Node) Find(q Query) []*admin.JournalEntry {
	n.t.Helper()
	found, err := n.agent.Journal().Find(journal.Query{
		After: q.After, Methods: q.Method, Function: q.Function, Object: q.Object, RequestID: q.RequestID, Failed: q.Failed,
	})
	n.must("searching the journal", err)
	return journal.Messages(slices.Concat(found.Entries, found.Running))
}

// Newest is the sequence number of the newest entry of the journal: what comes later is found with Query.After.
func (n *Node) Newest() uint64 {
	n.t.Helper()
	found, err := n.agent.Journal().Find(journal.Query{Limit: 1})
	n.must("searching the journal", err)
	return found.Newest
}

// JournalText is the journal as lines for a person.
func (n *Node) JournalText() string {
	var text strings.Builder
	for _, e := range n.Journal() {
		text.WriteString(journal.Line(e) + "\n")
	}
	return text.String()
}

// Tree is the node's storage: disks with their partitions, volumes and mount points.
func (n *Node) Tree() *admin.GetTreeResponse {
	n.t.Helper()
	tree, err := adminserver.Tree(context.Background(), n.agent)
	n.must("reading the tree", err)
	return tree
}

// report is what helps to understand a failed test.
func (n *Node) report() string {
	text := n.JournalText() // first: the tree adds to it
	n.agent.Faults().Release()
	ctx, cancel := context.WithTimeout(context.Background(), reportLimit)
	defer cancel()
	var drawing strings.Builder
	tree, err := adminserver.Tree(ctx, n.agent)
	if err == nil {
		err = treeview.Write(&drawing, treeview.FromAdmin(tree))
	}
	if err != nil {
		fmt.Fprintf(&drawing, "no tree: %v\n", err)
	}
	return drawing.String() + "\n" + text
}
