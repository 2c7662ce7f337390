// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	adminapi "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// state is what a page shows.
type state struct {
	Agent     string          `json:"agent"`
	Journal   json.RawMessage `json:"journal"` // a ListJournalResponse with the entries that are new
	Tree      json.RawMessage `json:"tree"`    // a seen; null: as before
	Version   uint64          `json:"version"` // of the tree
	TreeError string          `json:"treeError,omitempty"`
	Faults    []any           `json:"faults"`
	Node      map[string]any  `json:"node"` // what the control says of it
}

// serveState answers what is new to a page that has journal entries up to a number and a version of the tree.
func (p *page) serveState(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	tree, err2 := strconv.ParseUint(r.FormValue("tree"), 10, 64)
	if err = errors.Join(err, err2); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, err := p.state(r.Context(), after, tree)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s) // a browser that went away needs no answer
}

func (p *page) state(ctx context.Context, after, tree uint64) (s state, err error) {
	a := p.config.Agent
	entries, err := a.ListJournal(ctx, &api.ListJournalRequest{After: after})
	if err != nil {
		return s, err
	}
	s = state{Agent: p.agent, Faults: []any{}}
	if s.Journal, err = protojson.Marshal(entries); err != nil {
		return s, err
	}
	for _, f := range a.Faults.List() {
		s.Faults = append(s.Faults, map[string]any{
			"id": f.GetId(), "calls": faults.Calls(f.GetFault()), "effect": faults.Effect(f.GetFault()),
			"skip": f.GetFault().GetSkip(), "times": f.GetFault().GetTimes(),
			"disturbed": f.GetDisturbed(), "holding": f.GetHolding(),
		})
	}
	if s.Node, err = emulation.Get(a.Emulated, "", ""); err != nil {
		s.TreeError = err.Error()
	}
	text, version, err := p.storage.refresh(ctx, entries.GetNewest(), len(entries.GetRunning()))
	if err != nil {
		s.TreeError = err.Error()
	}
	if s.Version = version; version != tree {
		s.Tree = text
	}
	return s, nil
}

// seen is the storage, and what is wrong with it.
type seen struct {
	Tree     *treeview.Tree   `json:"tree"`
	Seen     json.RawMessage  `json:"seen"` // the other facts: a GetFactsResponse
	Findings []doctor.Finding `json:"findings"`
}

// storage is the storage as it was seen last.
type storage struct {
	node *node.Node

	mu      sync.Mutex
	text    json.RawMessage
	version uint64
	newest  uint64 // journal entry when it was seen
	seen    time.Time
}

// staleAfter is how old a look may be although no call was made since: files grow without one.
const staleAfter = 10 * time.Second

// refresh returns the storage as JSON with a version, which changes when it does. It looks only if calls were made
// since the last time: a look reads partition tables, which the switch msrAfterReads counts.
func (s *storage) refresh(ctx context.Context, newest uint64, running int) (json.RawMessage, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version > 0 && newest == s.newest && running == 0 && time.Since(s.seen) < staleAfter {
		return s.text, s.version, nil
	}
	facts := admin.FactsOf(ctx, s.node, append(treeview.Parts(), adminapi.Part_PART_LINKS, adminapi.Part_PART_MAPPINGS,
		adminapi.Part_PART_SESSIONS)...)
	s.newest, s.seen = newest, time.Now()
	now := seen{Tree: treeview.FromFacts(facts)}
	now.Findings = doctor.Examine(doctor.Facts{Tree: now.Tree, Seen: facts})
	facts.Disks, facts.Volumes = nil, nil // the tree has them
	var err error
	if now.Seen, err = protojson.Marshal(facts); err != nil {
		return s.text, s.version, err
	}
	// without the blanks that protojson varies
	if text, err := json.Marshal(now); err == nil && !bytes.Equal(text, s.text) {
		s.text, s.version = text, s.version+1
	}
	return s.text, s.version, nil
}
