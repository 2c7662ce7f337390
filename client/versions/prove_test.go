// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A methodCounts counts methods by their kind in the tables.
type methodCounts struct {
	methods, hub int
	kinds        map[Kind]int // of the methods that are not the hub's
}

func newMethodCounts() methodCounts { return methodCounts{kinds: map[Kind]int{}} }

func (t methodCounts) String() string {
	return fmt.Sprintf("%d hub + %d same bytes + %d extra fields + %d mapped + %d alone = %d methods",
		t.hub, t.kinds[Same], t.kinds[Extra], t.kinds[Mapped], t.kinds[Alone], t.methods)
}

func (t *methodCounts) add(u methodCounts) {
	t.methods += u.methods
	t.hub += u.hub
	for kind, n := range u.kinds {
		t.kinds[kind] += n
	}
}

// prove compares the table of a group with the services of its versions: every method of every version has one row,
// which is right about its messages, and every row has a method. It describes faults in sentences, for the author of a
// new version.
func prove(g Group, services map[string]protoreflect.ServiceDescriptor) (methodCounts, []string) {
	counted := newMethodCounts()
	var problems []string
	hub := services[g.Hub]
	if hub == nil || len(g.Of(g.Hub)) > 0 {
		return counted, []string{fmt.Sprintf("%s: the hub %s is no version, or has rows", g.Name, g.Hub)}
	}
	for _, version := range g.Versions() {
		if services[version] == nil {
			problems = append(problems, fmt.Sprintf("%s %s has rows and no proto, or none that is linked", g.Name, version))
		}
	}
	for _, version := range slices.Sorted(maps.Keys(services)) {
		service := services[version]
		if want := g.ServiceName(version); string(service.FullName()) != want {
			problems = append(problems, fmt.Sprintf("%s %s: the table calls the service %s, the proto %s", g.Name, version,
				want, service.FullName()))
		}
		counted.methods += service.Methods().Len()
		if version == g.Hub {
			counted.hub += service.Methods().Len()
			continue
		}
		problems = append(problems, proveVersion(g, version, service, hub, counted.kinds)...)
	}
	return counted, problems
}

// proveVersion does prove's work for one version that is not the hub.
func proveVersion(g Group, version string, service, hub protoreflect.ServiceDescriptor,
	kinds map[Kind]int) (problems []string) {
	methods := methodNames(service)
	for _, r := range g.Of(version) {
		if !slices.Contains(methods, r.Method) {
			problems = append(problems, fmt.Sprintf("%s %s has no method %s, or two rows for it", g.Name, version, r.Method))
			continue
		}
		methods = slices.DeleteFunc(methods, func(m string) bool { return m == r.Method })
		kinds[r.Kind]++
		problems = append(problems, checkRoute(service, hub, r)...)
	}
	for _, m := range methods {
		problems = append(problems, fmt.Sprintf("%s %s: no row for %s in %s.go; %s",
			g.Name, version, m, g.Name, proposal(service.Methods().ByName(protoreflect.Name(m)), hub)))
	}
	return problems
}

func methodNames(service protoreflect.ServiceDescriptor) []string {
	var names []string
	for i := range service.Methods().Len() {
		names = append(names, string(service.Methods().Get(i).Name()))
	}
	return names
}

// proposal returns the rows that the messages of a method allow. It cannot know the meaning of the method.
func proposal(method protoreflect.MethodDescriptor, hub protoreflect.ServiceDescriptor) string {
	var fitting []string
	for i := range hub.Methods().Len() {
		h := hub.Methods().Get(i)
		if is := relation(method, h); is == Same || h.Name() == method.Name() {
			fitting = append(fitting, fmt.Sprintf("%s (%s)", h.Name(), is))
		}
	}
	if fitting == nil {
		return fmt.Sprintf("no method of the hub %s has its bytes or its name: most likely it is mapped, or alone",
			hub.FullName())
	}
	return fmt.Sprintf("by its messages it may be of %s: %s", hub.FullName(), strings.Join(fitting, ", "))
}

// checkRoute proves that a row is right about the messages.
func checkRoute(old, hub protoreflect.ServiceDescriptor, r Route) (problems []string) {
	report := func(format string, arguments ...any) {
		problems = append(problems, fmt.Sprintf("%s.%s", old.FullName(), r.Method)+fmt.Sprintf(format, arguments...))
	}
	oldMethod := old.Methods().ByName(protoreflect.Name(r.Method))
	if r.Kind == Alone {
		if r.Hub != "" || r.Mapping != nil || hub.Methods().ByName(oldMethod.Name()) != nil {
			report(" is not alone")
		}
		return problems
	}
	hubMethod := hub.Methods().ByName(protoreflect.Name(r.Hub))
	if hubMethod == nil {
		report(": the hub has no method %s", r.Hub)
		return problems
	}
	if is := relation(oldMethod, hubMethod); is != r.Kind {
		report(" is said to be %s with %s, the descriptors say %s", r.Kind, hubMethod.FullName(), is)
	}
	if (r.Kind == Mapped) != (r.Mapping != nil) {
		report(": a mapping belongs to what is mapped, and only there")
	}
	if r.Mapping == nil {
		return problems
	}
	// A mapping of one version serves others whose messages have the same bytes.
	for i, want := range []protoreflect.MessageDescriptor{oldMethod.Input(), oldMethod.Output(),
		hubMethod.Input(), hubMethod.Output()} {
		got := r.Mapping.messages[i]().(proto.Message).ProtoReflect().Descriptor()
		if shape(got) != shape(want) || named(got) != named(want) {
			report(": the mapping takes %s, which is not %s", got.FullName(), want.FullName())
		}
		if i >= 2 && got != want {
			report(": the mapping takes %s for the hub's %s", got.FullName(), want.FullName())
		}
	}
	return problems
}
