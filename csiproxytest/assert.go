// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"flag"

	"github.com/kubernetes-csi/csi-proxy/internal/transcript"
)

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
