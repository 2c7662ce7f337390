// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/treeview"
)

// known is what a page has seen already.
type known struct {
	After uint64 `json:"after"` // journal entries up to this sequence number
	Tree  uint64 `json:"tree"`  // version of the tree
}

// state is what a page shows.
type state struct {
	ReadOnly  bool            `json:"readOnly"`
	Journal   json.RawMessage `json:"journal"` // a ListJournalResponse with the entries that are new
	Tree      json.RawMessage `json:"tree"`    // a seen; null: as before
	Version   uint64          `json:"version"` // of the tree
	TreeError string          `json:"treeError,omitempty"`
	Faults    []fault         `json:"faults"`
	Functions []string        `json:"functions,omitempty"` // which faults may disturb
	Network   json.RawMessage `json:"network"`             // a ListNetworkResponse
	Clock     time.Time       `json:"clock"`
	Stopped   bool            `json:"stopped"` // the clock
	Detached  []detached      `json:"detached"`
}

// detached is a disk that was pulled out.
type detached struct {
	Name         string `json:"name"` // of its bundle in the state directory
	SerialNumber string `json:"serialNumber"`
	SizeBytes    int64  `json:"sizeBytes"`
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

func (p *page) serveState(r *http.Request) (any, error) {
	var has known
	if err := readJSON(r, &has); err != nil {
		return nil, err
	}
	e := p.config.Harness
	entries, err := e.ListJournal(r.Context(), &api.ListJournalRequest{After: has.After})
	if err != nil {
		return nil, err
	}
	s := state{ReadOnly: p.config.Admin == nil, Faults: []fault{}}
	if s.Journal, err = protojson.Marshal(entries); err != nil {
		return nil, err
	}
	if s.Network, err = (protojson.MarshalOptions{EmitUnpopulated: true}).Marshal(emulation.Network(e.Node)); err != nil {
		return nil, err
	}
	if has.After == 0 {
		s.Functions = faults.Functions()
	}
	s.Clock, s.Stopped = e.Node.Clock()
	active, err := e.ListFaults(r.Context(), nil)
	if err != nil {
		return nil, err
	}
	for _, f := range active.GetFaults() {
		s.Faults = append(s.Faults, fault{
			ID: f.GetId(), Calls: faults.Calls(f.GetFault()), Effect: faults.Effect(f.GetFault()),
			Skip: f.GetFault().GetSkip(), Times: f.GetFault().GetTimes(),
			Disturbed: f.GetDisturbed(), Holding: f.GetHolding(),
		})
	}
	pulled, err := e.Node.DetachedDisks()
	if err != nil {
		s.TreeError = err.Error()
	}
	for _, d := range pulled {
		s.Detached = append(s.Detached, detached{filepath.Base(d.Bundle), d.SerialNumber, d.SizeBytes})
	}
	text, version, err := p.storage.refresh(r.Context(), entries.GetNewest(), len(entries.GetRunning()))
	if err != nil {
		s.TreeError = err.Error()
	}
	s.Version = version
	if version != has.Tree {
		s.Tree = text
	}
	return s, nil
}

// seen is the storage, and what is wrong with it.
type seen struct {
	Tree      json.RawMessage  `json:"tree"`      // a GetTreeResponse
	Inspected json.RawMessage  `json:"inspected"` // an InspectResponse
	Findings  []doctor.Finding `json:"findings"`
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

// staleAfter is how old a look may be although no call was made since: files grow, and iSCSI sessions expire, without
// one.
const staleAfter = 10 * time.Second

// refresh returns the storage as JSON with a version, which changes when it does. It looks only if calls were made
// since the last time: a look reads partition tables, which the switch msrAfterReads counts.
func (s *storage) refresh(ctx context.Context, newest uint64, running int) (json.RawMessage, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version > 0 && newest == s.newest && running == 0 && time.Since(s.seen) < staleAfter {
		return s.text, s.version, nil
	}
	tree, err := s.node.Tree(ctx)
	if err != nil {
		return s.text, s.version, err
	}
	inspected := admin.InspectOf(ctx, s.node, false)
	s.newest, s.seen = newest, time.Now()
	now := seen{Findings: doctor.Examine(doctor.Facts{Tree: treeview.FromAdmin(tree), Inspected: inspected})}
	if now.Tree, err = protojson.Marshal(tree); err == nil {
		now.Inspected, err = protojson.Marshal(inspected)
	}
	if err != nil {
		return s.text, s.version, err
	}
	// without the blanks that protojson varies
	if text, err := json.Marshal(now); err == nil && !bytes.Equal(text, s.text) {
		s.text, s.version = text, s.version+1
	}
	return s.text, s.version, nil
}
