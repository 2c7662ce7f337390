// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
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
		for _, ctx := range []context.Context{t.Context(), winfs.WithScope(t.Context(), rights("a")),
			winfs.WithScope(t.Context(), rights("b")), winfs.WithScope(t.Context(), rights("a"))} {
			results = append(results, make(chan result, 1))
			go func(answer chan<- result) {
				run, err := changeTo(ctx, n, what, f)
				answer <- result{run, err}
			}(results[len(results)-1])
			synctest.Wait()
		}
		close(proceed)
		for i, want := range []int{1, 2, 3, 2} {
			if got := <-results[i]; got.run != want || got.err != nil {
				t.Errorf("call %d got run %d, %v, want %d", i, got.run, got.err, want)
			}
		}
	})
}
