// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
)

// Whatever the order in which calls end, those that run are exactly those that have not ended.
func TestRunningInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal(9)
			ids := []string{"a", "b", "c"}
			calls := make([]*journal.APICall, len(ids))
			for i, id := range ids {
				calls[i] = j.BeginAPI(id, "e", "/m")
				time.Sleep(time.Second) // the bubble's clock
			}
			left := slices.Clone(ids)
			for _, i := range order {
				calls[i].End(nil, nil)
				left = slices.DeleteFunc(left, func(id string) bool { return id == ids[i] })
				var running []string
				for _, e := range find(t, j, journal.Query{}).Running {
					running = append(running, e.RequestID)
				}
				if d := cmp.Diff(left, running, cmp.Comparer(slices.Equal[[]string])); d != "" {
					t.Errorf("%v, after %d: %s", order, i, d)
				}
			}
		})
	}
}

// A journal full of the answers of a large node would be larger than the agent.
func TestLargeResponsesAreNotKept(t *testing.T) {
	j := newJournal(64)
	large := func() *volume.ListVolumesOnDiskResponse {
		return &volume.ListVolumesOnDiskResponse{VolumeIds: []string{strings.Repeat("x", 1<<20)}}
	}
	for range 64 {
		j.BeginAPI("id", "e", "/m").End(large(), nil)
	}
	j.BeginAPI("id", "e", "/m").End(&filesystem.PathExistsResponse{Exists: true}, nil)
	entries := journal.Messages(find(t, j, journal.Query{}).Entries)
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
