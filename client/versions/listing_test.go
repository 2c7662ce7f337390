// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var update = flag.Bool("update", false, "rewrite the listing")

// TestListing compares the tables with a listing of every old method and field and its place in the hub, so that the
// effect of a change to a table or mapping shows in review.
func TestListing(t *testing.T) {
	const golden = "testdata/listing.txt"
	var b strings.Builder
	services, all := released(t), newMethodCounts()
	for _, g := range Groups() {
		counted, _ := prove(g, services[g.Name])
		all.add(counted)
		hub := services[g.Name][g.Hub]
		fmt.Fprintf(&b, "%s: hub %s, %d methods\n", g.Name, g.Hub, hub.Methods().Len())
		for _, version := range g.Versions() {
			fmt.Fprintf(&b, "\n%s %s\n", g.Name, version)
			methods := services[g.Name][version].Methods()
			for i := range methods.Len() {
				listMethod(&b, methods.Get(i), g.Of(version), hub)
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintln(&b, all)
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the listing changed (-want +got); go test -update rewrites it:\n%s", diff)
	}
}

func listMethod(b *strings.Builder, m protoreflect.MethodDescriptor, routes []Route,
	hub protoreflect.ServiceDescriptor) {
	for _, r := range routes {
		if r.Method != string(m.Name()) {
			continue
		}
		if r.Kind == Alone {
			fmt.Fprintf(b, "  %s: alone\n", m.Name())
			return
		}
		h := hub.Methods().ByName(protoreflect.Name(r.Hub))
		fmt.Fprintf(b, "  %s: %s, %s\n", m.Name(), h.Name(), r.Kind)
		listFields(b, "request", m.Input(), h.Input(), r)
		listFields(b, "response", m.Output(), h.Output(), r)
	}
}

func listFields(b *strings.Builder, side string, old, hub protoreflect.MessageDescriptor, r Route) {
	for i := range old.Fields().Len() {
		f := old.Fields().Get(i)
		where := "mapped"
		if r.Mapping == nil {
			where = "not there: dropped, or left empty"
			if g := hub.Fields().ByNumber(f.Number()); g != nil {
				where = fmt.Sprintf("%s %d", g.Name(), g.Number())
			}
		}
		fmt.Fprintf(b, "    %s %s %d: %s\n", side, f.Name(), f.Number(), where)
	}
}
