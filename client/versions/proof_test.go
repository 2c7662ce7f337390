// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta2"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta2"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1alpha1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta1"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta3"
	_ "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// released is every service that the wire contract has, by group and version, as the compiled descriptors tell.
func released(t *testing.T) map[string]map[string]protoreflect.ServiceDescriptor {
	t.Helper()
	services := map[string]map[string]protoreflect.ServiceDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		path := strings.Split(file.Path(), "/")
		if len(path) == 5 && path[0] == "client" && path[1] == "api" {
			if services[path[2]] == nil {
				services[path[2]] = map[string]protoreflect.ServiceDescriptor{}
			}
			services[path[2]][path[3]] = file.Services().Get(0)
		}
		return true
	})
	return services
}

func TestEveryMethodHasOnePlace(t *testing.T) {
	counts := map[Kind]int{}
	all, hubs := 0, 0
	services := released(t)
	for _, g := range Groups() {
		versions := services[g.Name]
		delete(services, g.Name)
		for version, service := range versions {
			if want := g.ServiceName(version); string(service.FullName()) != want {
				t.Errorf("%s %s: the table calls the service %s, the proto %s", g.Name, version, want, service.FullName())
			}
			var methods []string
			for i := range service.Methods().Len() {
				methods = append(methods, string(service.Methods().Get(i).Name()))
			}
			all += len(methods)
			if version == g.Hub {
				hubs += len(methods)
				continue
			}
			for _, r := range g.Of(version) {
				if !slices.Contains(methods, r.Method) {
					t.Errorf("%s %s has no method %s, or two rows for it", g.Name, version, r.Method)
					continue
				}
				methods = slices.DeleteFunc(methods, func(m string) bool { return m == r.Method })
				counts[r.Kind]++
				checkRoute(t, service, versions[g.Hub], r)
			}
			if len(methods) > 0 {
				t.Errorf("%s %s: no row for %s", g.Name, version, methods)
			}
		}
		if len(g.Of(g.Hub)) > 0 || versions[g.Hub] == nil {
			t.Errorf("%s: the hub %s is no version, or has rows", g.Name, g.Hub)
		}
	}
	if len(services) > 0 {
		t.Errorf("groups without a table: %v", services)
	}
	t.Logf("%d hub + %d same bytes + %d extra fields + %d mapped + %d alone = %d methods",
		hubs, counts[Same], counts[Extra], counts[Mapped], counts[Alone], all)
	if got := fmt.Sprint(hubs, counts[Same], counts[Extra], counts[Mapped], counts[Alone], all); got != "38 69 8 23 1 139" {
		t.Errorf("counted %s, want 38 69 8 23 1 139", got)
	}
}

// checkRoute proves that a row says the truth about the messages.
func checkRoute(t *testing.T, old, hub protoreflect.ServiceDescriptor, r Route) {
	t.Helper()
	name := string(old.FullName()) + "." + r.Method
	oldMethod := old.Methods().ByName(protoreflect.Name(r.Method))
	if r.Kind == Alone {
		if r.Hub != "" || r.Mapping != nil || hub.Methods().ByName(oldMethod.Name()) != nil {
			t.Errorf("%s is not alone", name)
		}
		return
	}
	hubMethod := hub.Methods().ByName(protoreflect.Name(r.Hub))
	if hubMethod == nil {
		t.Errorf("%s: the hub has no method %s", name, r.Hub)
		return
	}
	if is := relation(oldMethod, hubMethod); is != r.Kind {
		t.Errorf("%s is said to be %s with %s, the descriptors say %s", name, r.Kind, hubMethod.FullName(), is)
	}
	if (r.Kind == Mapped) != (r.Mapping != nil) {
		t.Errorf("%s: a mapping belongs to what is mapped, and only there", name)
	}
	if r.Mapping == nil {
		return
	}
	// A mapping of one version serves others whose messages have the same bytes.
	for i, want := range []protoreflect.MessageDescriptor{oldMethod.Input(), oldMethod.Output(), hubMethod.Input(), hubMethod.Output()} {
		got := r.Mapping.messages[i].(proto.Message).ProtoReflect().Descriptor()
		if shape(got) != shape(want) || named(got) != named(want) {
			t.Errorf("%s: the mapping takes %s, which is not %s", name, got.FullName(), want.FullName())
		}
		if i >= 2 && got != want {
			t.Errorf("%s: the mapping takes %s for the hub's %s", name, got.FullName(), want.FullName())
		}
	}
}

// relation says how two methods' messages relate.
func relation(old, hub protoreflect.MethodDescriptor) Kind {
	pairs := [][2]protoreflect.MessageDescriptor{{old.Input(), hub.Input()}, {old.Output(), hub.Output()}}
	kind := Same
	for _, pair := range pairs {
		switch {
		case shape(pair[0]) == shape(pair[1]) && sameMeaning(pair[0], pair[1]):
		case overlap(pair[0], pair[1]) && overlap(pair[1], pair[0]) && sameMeaning(pair[0], pair[1]):
			if kind == Same {
				kind = Extra
			}
		default:
			return Mapped
		}
	}
	return kind
}

// shape is a message as its bytes see it: field numbers, types and labels, recursively, without names.
func shape(m protoreflect.MessageDescriptor) string {
	var fields []string
	for i := range m.Fields().Len() {
		fields = append(fields, fieldShape(m.Fields().Get(i)))
	}
	slices.Sort(fields)
	return "{" + strings.Join(fields, " ") + "}"
}

func fieldShape(f protoreflect.FieldDescriptor) string {
	return fmt.Sprintf("%d:%s %s", f.Number(), f.Cardinality(), typeShape(f))
}

func typeShape(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map[" + typeShape(f.MapKey()) + "]" + typeShape(f.MapValue())
	case f.Kind() == protoreflect.MessageKind:
		return shape(f.Message())
	case f.Kind() == protoreflect.EnumKind:
		var values []string
		for i := range f.Enum().Values().Len() {
			v := f.Enum().Values().Get(i)
			values = append(values, fmt.Sprint(v.Number(), v.Name()))
		}
		return "enum(" + strings.Join(values, " ") + ")"
	default:
		return f.Kind().String()
	}
}

// named is a message with the names of its fields.
func named(m protoreflect.MessageDescriptor) string {
	var names []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		names = append(names, fmt.Sprint(f.Number(), f.Name()))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// overlap tells whether every field of a that b has too, by number, has the same type there.
func overlap(a, b protoreflect.MessageDescriptor) bool {
	for i := range a.Fields().Len() {
		f := a.Fields().Get(i)
		if g := b.Fields().ByNumber(f.Number()); g != nil && fieldShape(f) != fieldShape(g) {
			return false
		}
	}
	return true
}

// renamed are the fields that mean the same under another name; everything else with one number must have one name.
func renamed() map[string]string {
	return map[string]string{
		"path": "target_path", "mount": "target_path", "size": "size_bytes", "diskSize": "total_bytes",
		"volumeSize": "total_bytes", "volumeUsedSize": "used_bytes", "isOnline": "is_online", "is_mount_point": "is_symlink",
	}
}

// sameMeaning tells whether fields with one number mean one thing.
func sameMeaning(old, hub protoreflect.MessageDescriptor) bool {
	for i := range old.Fields().Len() {
		f := old.Fields().Get(i)
		g := hub.Fields().ByNumber(f.Number())
		if g != nil && f.Name() != g.Name() && renamed()[string(f.Name())] != string(g.Name()) {
			return false
		}
	}
	return true
}
