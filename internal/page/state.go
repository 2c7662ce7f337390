// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/faulttext"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// known is what a page has seen already.
type known struct {
	After uint64 `json:"after"` // journal entries up to this sequence number
	Tree  uint64 `json:"tree"`  // version of the tree
}

// state is what a page shows.
type state struct {
	ReadOnly  bool                   `json:"readOnly"`
	Journal   json.RawMessage        `json:"journal"` // a ListJournalResponse with the entries that are new
	Tree      json.RawMessage        `json:"tree"`    // a GetTreeResponse; null: as before
	Version   uint64                 `json:"version"` // of the tree
	TreeError string                 `json:"treeError,omitempty"`
	Faults    []fault                `json:"faults"`
	Functions []string               `json:"functions,omitempty"` // which faults may disturb
	Servers   []emulated.FileServer  `json:"servers"`
	Portals   []emulated.ISCSIPortal `json:"portals"`
	Clock     time.Time              `json:"clock"`
	Stopped   bool                   `json:"stopped"` // the clock
}

// fault is a fault as the page shows it.
type fault struct {
	ID        uint64 `json:"id"`
	Calls     string `json:"calls"`
	Effect    string `json:"effect"`
	Skip      uint32 `json:"skip"`
	Times     uint32 `json:"times"`
	Disturbed uint64 `json:"disturbed"`
	Holding   uint64 `json:"holding"`
}

func (p *page) serveState(w http.ResponseWriter, r *http.Request) {
	var seen known
	if !readJSON(w, r, &seen) {
		return
	}
	e := p.config.Harness
	entries, err := e.ListJournal(r.Context(), &api.ListJournalRequest{After: seen.After})
	if err != nil {
		fail(w, err)
		return
	}
	s := state{ReadOnly: p.config.Admin == nil, Servers: e.Node.FileServers(),
		Portals: e.Node.ISCSIPortals(), Faults: []fault{}}
	if s.Journal, err = protojson.Marshal(entries); err != nil {
		fail(w, err)
		return
	}
	if seen.After == 0 {
		s.Functions = kernel.Functions()
	}
	s.Clock, s.Stopped = e.Node.Clock()
	active, err := e.ListFaults(r.Context(), nil)
	if err != nil {
		fail(w, err)
		return
	}
	for _, f := range active.GetFaults() {
		s.Faults = append(s.Faults, fault{
			ID: f.GetId(), Calls: faulttext.Calls(f.GetFault()), Effect: faulttext.EffectOf(f.GetFault()),
			Skip:  f.GetFault().GetSkip(),
			Times: f.GetFault().GetTimes(), Disturbed: f.GetDisturbed(), Holding: f.GetHolding(),
		})
	}
	text, version, err := p.storage.look(r.Context(), entries.GetNewest(), len(entries.GetRunning()))
	if err != nil {
		s.TreeError = err.Error()
	}
	s.Version = version
	if version != seen.Tree {
		s.Tree = text
	}
	answer(w, s)
}

// storage is the storage as it was seen last.
type storage struct {
	node *node.Node

	mu      sync.Mutex
	text    json.RawMessage
	encoded []byte
	version uint64
	newest  uint64 // journal entry when it was seen
	seen    time.Time
}

// staleAfter is how old a look may be although no call was made since: files grow, and iSCSI sessions expire, without
// one.
const staleAfter = 10 * time.Second

// look returns the storage as JSON with a version, which changes when it does. It looks only if calls were made since
// the last time: a look reads partition tables, which the switch msrAfterReads counts.
func (s *storage) look(ctx context.Context, newest uint64, running int) (json.RawMessage, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version > 0 && newest == s.newest && running == 0 && time.Since(s.seen) < staleAfter {
		return s.text, s.version, nil
	}
	tree, err := admin.TreeOf(ctx, s.node)
	if err != nil {
		return s.text, s.version, err
	}
	s.newest, s.seen = newest, time.Now()
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(tree)
	if err != nil || s.version > 0 && bytes.Equal(encoded, s.encoded) {
		return s.text, s.version, err
	}
	text, err := protojson.Marshal(tree)
	if err == nil {
		s.text, s.encoded, s.version = text, encoded, s.version+1
	}
	return s.text, s.version, err
}
