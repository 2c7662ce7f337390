// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// reportLimit is how long the report of a failed test may take: the node may hang, perhaps just because the test wanted it.
const reportLimit = 10 * time.Second

// kept is more entries than the agent's journal has.
const kept = 1 << 16

// Journal is what the agent did last, some thousand entries: the API calls and, before each of them, the kernel calls
// that were made for it and have its request id. Secrets are masked. Calls that have not ended come last.
func (n *Node) Journal() []*admin.JournalEntry {
	entries, _ := n.agent.Journal().Since(0, kept)
	return journal.Messages(slices.Concat(entries, n.agent.Journal().Running()))
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
	tree, err := n.agent.Tree(context.Background())
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
	tree, err := n.agent.Tree(ctx)
	if err == nil {
		err = treeview.Write(&drawing, tree)
	}
	if err != nil {
		fmt.Fprintf(&drawing, "no tree: %v\n", err)
	}
	return drawing.String() + "\n" + text
}
