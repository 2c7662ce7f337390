// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A mark is one kind of proof that a method has.
type mark rune

const (
	failed  mark = 'F' // it fails with the right code, because of a missing object or a failing kernel call
	hostile mark = 'H' // it refuses requests that no honest caller sends, and nothing has changed
)

func (k mark) String() string { return map[mark]string{failed: "failure", hostile: "hostile"}[k] }

// marks collects the marks that all methods have earned.
type marks struct {
	mu    sync.Mutex
	given map[served]map[string]string // by version and method
}

func newMarks() *marks { return &marks{given: map[served]map[string]string{}} }

func (g *marks) give(m *method, k mark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := served{m.api.group, m.api.version}
	if g.given[at] == nil {
		g.given[at] = map[string]string{}
	}
	g.given[at][m.name] += string(k)
}

// check prints the table and asserts that no method of a listed version lacks a mark.
func (g *marks) check(t *testing.T, all []served) {
	t.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	methods := 0
	for _, at := range all {
		descriptors := caller.Service(t, at.group, at.version).Methods()
		for i := range descriptors.Len() {
			name := string(descriptors.Get(i).Name())
			got := g.given[at][name]
			_, _ = fmt.Fprintf(w, "%s %s\t%s\t%s\n", at.group, at.version, name, got)
			methods++
			if _, ok := failures()[operation(at.group, name)]; !ok {
				t.Errorf("%s %s %s is served and has no failure: add %q to failures", at.group, at.version, name,
					operation(at.group, name))
			} else if got != string(failed)+string(hostile) {
				t.Errorf("%s %s %s has the marks %q, want F and H", at.group, at.version, name, got)
			}
		}
	}
	_ = w.Flush()
	t.Logf("%d methods of %d served versions; F failure, H hostile:\n%s", methods,
		len(all), table.String())
}
