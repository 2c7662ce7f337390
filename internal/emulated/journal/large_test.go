// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
)

// A journal full of a large node's answers, or of those of its kernel, could be larger than the agent.
func TestLargeResponsesAreNotKept(t *testing.T) {
	j := newJournal(128)
	large := func() *volume.ListVolumesOnDiskResponse {
		return &volume.ListVolumesOnDiskResponse{VolumeIds: []string{strings.Repeat("x", 1<<20)}}
	}
	for range 63 {
		out := make([]byte, 1<<20)
		_ = j.Intercept(t.Context(), kernel.Call{Function: "Information", Output: func() any { return out }},
			func() error { return nil })
	}
	for range 64 {
		j.BeginAPI("id", "e", "/m").End(large(), nil)
	}
	j.BeginAPI("id", "e", "/m").End(&filesystem.PathExistsResponse{Exists: true}, nil)
	entries := find(t, j, nil).GetEntries()
	last := len(entries) - 1
	got := []string{entries[last-1].GetApi().GetResponse(), entries[last].GetApi().GetResponse()}
	if d := cmp.Diff([]string{"(1048580 bytes)", `{"exists":true}`}, got); d != "" {
		t.Error(d)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 32<<20 {
		t.Errorf("%d MiB are in use", memory.HeapAlloc>>20)
	}
	runtime.KeepAlive(j)
}
