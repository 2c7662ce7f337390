// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	released "github.com/kubernetes-csi/csi-proxy/client/api"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

var updateKernelCalls = flag.Bool("update", false, "rewrite testdata")

// kernelExample is one successful call of a method whose kernel calls are recorded.
type kernelExample struct {
	method  string
	when    string             // the node's state, where it makes a difference; "…, on PROFILE"
	prepare func(*exampleNode) // nil: the default node as it is
	call    func(*exampleNode) error
}

// kernelGroup is the content of one file.
type kernelGroup struct {
	// varies holds, for methods whose calls are not always exactly these, the cause of the difference.
	varies   map[string]string
	examples []kernelExample
	only     []string // the methods that have examples; nil: all
}

// exampleNode is the node of one example.
type exampleNode struct {
	*csiproxytest.Node
	*caller.Calls
	id string // of the volume that its preparation made
}

func TestKernelCalls(t *testing.T) {
	groups := map[string]kernelGroup{
		"disk":       {diskVaries(), diskExamples(), nil},
		"filesystem": {filesystemVaries(), filesystemExamples(), nil},
		"volume":     {volumeVaries(), volumeExamples(), nil},
		"smb":        {smbVaries(), smbExamples(), nil},
		"iscsi":      {iscsiVaries(), iscsiExamples(), nil},
		"system":     {systemVaries(), systemExamples(), nil},
		"nodesteps":  {nil, stepExamples(), []string{"StageDisk", "GetVolume"}},
	}
	files, err := released.Descriptors()
	caller.OK(t, err)
	for _, group := range versions.Groups() {
		hub, err := files.FindDescriptorByName(protoreflect.FullName(group.ServiceName(group.Hub)))
		caller.OK(t, err)
		t.Run(group.Name, func(t *testing.T) {
			t.Parallel()
			groups[group.Name].compare(t, hub.(protoreflect.ServiceDescriptor).Methods(),
				filepath.Join("testdata", group.Name+".txt"))
		})
	}
}

// compare writes the group's text, method by method as the proto has them, and compares it with the file.
func (g kernelGroup) compare(t *testing.T, methods protoreflect.MethodDescriptors, file string) {
	t.Helper()
	var text strings.Builder
	left := len(g.examples)
	for i := range methods.Len() {
		method := string(methods.Get(i).Name())
		if g.only != nil && !slices.Contains(g.only, method) {
			continue
		}
		fmt.Fprintf(&text, "== %s\n", method)
		if note := g.varies[method]; note != "" {
			fmt.Fprintf(&text, "# Varies: %s\n", note)
		}
		before := left
		for _, e := range g.examples {
			if e.method != method {
				continue
			}
			left--
			fmt.Fprintf(&text, "%s\n", e.when)
			for _, line := range e.kernelCalls(t) {
				fmt.Fprintf(&text, "  %s\n", line)
			}
		}
		if left == before {
			t.Errorf("there is no example of %s", method)
		}
		text.WriteString("\n")
	}
	if left != 0 {
		t.Errorf("%d examples are of no method", left)
	}
	if *updateKernelCalls {
		caller.OK(t, os.WriteFile(file, []byte(text.String()), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	caller.OK(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("the kernel calls have changed (-want +got); if that is meant, run this test with -update:\n%s", diff)
	}
}

// kernelCalls plays an example on its own node and returns the kernel calls of its call in readable form. How often in
// a row a service was asked whether it has arrived is left out, and so is how often a disk or volume was read.
func (e kernelExample) kernelCalls(t *testing.T) []string {
	t.Helper()
	_, profile, _ := strings.Cut(e.when, ", on ")
	n := csiproxytest.Start(t, csiproxytest.Options{Scenario: profile})
	w := &exampleNode{Node: n, Calls: caller.Of(t, n)}
	if e.prepare != nil {
		e.prepare(w)
	}
	names := newObjectNames(treeview.FromFacts(w.Facts()))
	before := w.Newest()
	if err := e.call(w); err != nil {
		t.Errorf("%s, %s: %v", e.method, e.when, err)
	}
	entries := w.Journal()
	names.add(treeview.FromFacts(w.Facts()))

	var id string
	for _, entry := range entries {
		if api := entry.GetApi(); entry.GetSequence() > before && strings.HasSuffix(api.GetMethod(), "/"+e.method) {
			if id != "" {
				t.Errorf("%s, %s: it is called more than once", e.method, e.when)
			}
			id = entry.GetRequestId()
		}
	}
	entries = slices.DeleteFunc(entries, func(e *nodeapi.JournalEntry) bool {
		return e.GetKernel() == nil ||
			e.GetRequestId() != id
	})
	sortParts(entries)
	var lines []string
	for _, entry := range entries {
		line := names.line(entry.GetKernel())
		again := len(lines) > 0 && lines[len(lines)-1] == line
		if function := entry.GetKernel().GetFunction(); !again || function != "QueryService" && function != "ReadAt" {
			lines = append(lines, line)
		}
	}
	if id == "" {
		t.Errorf("%s, %s: the journal does not have the call", e.method, e.when)
	}
	if len(lines) == 0 {
		return []string{"(no kernel call)"}
	}
	return lines
}

// sortParts sorts the calls for disks or volumes that were asked side by side by the number of the disk or volume.
func sortParts(entries []*nodeapi.JournalEntry) {
	part := func(e *nodeapi.JournalEntry) uint32 { return e.GetKernel().GetPart() }
	for start := 0; start < len(entries); start++ {
		end := start
		for end < len(entries) && part(entries[end]) > 0 {
			end++
		}
		slices.SortStableFunc(entries[start:end], func(a, b *nodeapi.JournalEntry) int { return int(part(a)) - int(part(b)) })
		start = max(start, end-1)
	}
}
