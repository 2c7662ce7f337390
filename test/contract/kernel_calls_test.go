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
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

var updateKernelCalls = flag.Bool("update", false, "rewrite testdata")

func TestKernelCalls(t *testing.T) {
	all := append(examples.All(), examples.Example{Method: "volume/FormatVolume",
		When:    "blank, and not known to the storage provider yet",
		Prepare: func(n *examples.Node) { n.ID = n.Raw(examples.TheDisk); n.Once("FormatVolume", 40006) },
		Call:    examples.Format})
	files, err := released.Descriptors()
	caller.OK(t, err)
	known := map[string]bool{}
	for _, group := range versions.Groups() {
		hub, err := files.FindDescriptorByName(protoreflect.FullName(group.ServiceName(group.Hub)))
		caller.OK(t, err)
		methods := hub.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			known[group.Name+"/"+string(methods.Get(i).Name())] = true
		}
		t.Run(group.Name, func(t *testing.T) {
			t.Parallel()
			compareCalls(t, all, group.Name, methods)
		})
	}
	for _, e := range all {
		if !known[e.Method] {
			t.Errorf("an example of an unknown method %s", e.Method)
		}
	}
}

// compareCalls writes the text of a group, method by method as the proto has them, and compares it with the file. Of the
// steps, only what asks the kernel otherwise than the other groups is in it.
func compareCalls(t *testing.T, all []examples.Example, group string, methods protoreflect.MethodDescriptors) {
	t.Helper()
	const steps = "nodesteps"
	var text strings.Builder
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		ofMethod := slices.DeleteFunc(slices.Clone(all), func(e examples.Example) bool {
			return e.Method != group+"/"+name || group == steps && !e.Asks
		})
		if len(ofMethod) == 0 {
			if group != steps {
				t.Errorf("the method %s has no example", name)
			}
			continue
		}
		fmt.Fprintf(&text, "== %s\n", name)
		if note := varies()[group+"/"+name]; note != "" {
			fmt.Fprintf(&text, "# Varies: %s\n", note)
		}
		for _, e := range ofMethod {
			fmt.Fprintf(&text, "%s\n", e.When)
			for _, line := range kernelCalls(t, e) {
				fmt.Fprintf(&text, "  %s\n", line)
			}
		}
		text.WriteString("\n")
	}
	file := filepath.Join("testdata", group+".txt")
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
func kernelCalls(t *testing.T, e examples.Example) []string {
	t.Helper()
	n := &examples.Node{Node: caller.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: examples.Scenario()}})}
	if e.Prepare != nil {
		e.Prepare(n)
	}
	names := newObjectNames(n.Tree())
	before := n.Newest()
	if err := e.Call(n); err != nil {
		t.Errorf("%s, %s: %v", e.Method, e.When, err)
	}
	entries := n.Journal()
	names.add(n.Tree())

	var id string
	_, method, _ := strings.Cut(e.Method, "/")
	for _, entry := range entries {
		if api := entry.GetApi(); entry.GetSequence() > before && strings.HasSuffix(api.GetMethod(), "/"+method) {
			if id != "" {
				t.Errorf("%s, %s: it is called more than once", e.Method, e.When)
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
		t.Errorf("%s, %s: the journal does not have the call", e.Method, e.When)
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
