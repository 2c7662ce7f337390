// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// rights are what some calls may reach.
type rights string

func (rights) Path(winpath.Path) error { return nil }
func (rights) Server(string) error     { return nil }
func (r rights) Name() string          { return string(r) }

// A call that joined one with other rights would get its refusal.
func TestOnlyEqualRightsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := bare(t, nil)
		runs, proceed := 0, make(chan struct{})
		f := func(*op) (int, error) { runs++; run := runs; <-proceed; return run, nil }
		what := operation.On("test", operation.Disk(1))
		type result struct {
			run int
			err error
		}
		var results []chan result
		for _, s := range []operation.Scope{operation.Everything(), operation.Within(rights("a")),
			operation.Within(rights("b")), operation.Within(rights("a")), operation.Within(rights(""))} {
			results = append(results, make(chan result, 1))
			go func(answer chan<- result) {
				run, err := changeTo(t.Context(), n.For(s), what, f)
				answer <- result{run, err}
			}(results[len(results)-1])
			synctest.Wait()
		}
		close(proceed)
		for i, want := range []int{1, 2, 3, 2, 4} {
			if got := <-results[i]; got.run != want || got.err != nil {
				t.Errorf("call %d got run %d, %v, want %d", i, got.run, got.err, want)
			}
		}
	})
}

// An operation without what its client may reach is refused, before Windows is asked anything: the zero value of a
// scope allows nothing.
func TestNothingWithoutAScope(t *testing.T) {
	n, err := New(nil, Config{WorkingDirs: []string{KubeletDir}})
	must(t, err)
	asked := func(*op) (int, error) { t.Error("the operation ran"); return 0, nil }
	_, readErr := read(t.Context(), n, operation.On("test"), asked)
	_, changeErr := changeTo(t.Context(), n, operation.On("test"), asked)
	path, err := winpath.Parse(KubeletDir, winpath.Options{})
	must(t, err)
	for what, err := range map[string]error{
		"a read": readErr, "a change": changeErr, "a path": operation.Scope{}.Path(path),
		"a server": operation.Scope{}.Server("fs"), "a call": by(t.Context(), n).PartitionDisk(1),
	} {
		if !errdefs.HasReason(err, reason.Policy) {
			t.Errorf("%s without a scope: got %v, want a refusal", what, err)
		}
	}
}
