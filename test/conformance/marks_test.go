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
	success mark = 'S' // it does what it says
	failure mark = 'F' // it fails with the right code, because of a missing object or a failing kernel call
	hostile mark = 'H' // it refuses requests that no honest caller sends, and nothing has changed
)

func allMarks() []mark { return []mark{success, failure, hostile} }

func (k mark) String() string {
	return map[mark]string{success: "success", failure: "failure", hostile: "hostile"}[k]
}

// evidence reports whether a method was called as a mark implies, so that a scenario cannot pass without calling it.
func (k mark) evidence(m *method) bool {
	if k == success {
		return m.succeeded > 0
	}
	return m.failed > 0
}

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
	var want strings.Builder
	for _, k := range allMarks() {
		want.WriteRune(rune(k))
	}
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
			if _, ok := scenarios()[operation(at.group, name)]; !ok {
				t.Errorf("%s %s %s is served and has no scenario: add %q to scenarios", at.group, at.version, name,
					operation(at.group, name))
			} else if got != want.String() {
				t.Errorf("%s %s %s has the marks %q, want %q", at.group, at.version, name, got, want.String())
			}
		}
	}
	_ = w.Flush()
	t.Logf("%d methods of %d served versions; S success, F failure, H hostile:\n%s", methods,
		len(all), table.String())
}
