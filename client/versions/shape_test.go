// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// relation returns how the messages of two methods relate.
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

// shape returns a message as its bytes show it: field numbers, types and labels, recursively, without names.
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

// named describes a message with the names of its fields.
func named(m protoreflect.MessageDescriptor) string {
	var names []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		names = append(names, fmt.Sprint(f.Number(), f.Name()))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// overlap reports whether every field of a that b has too, by number, has the same type there.
func overlap(a, b protoreflect.MessageDescriptor) bool {
	for i := range a.Fields().Len() {
		f := a.Fields().Get(i)
		if g := b.Fields().ByNumber(f.Number()); g != nil && fieldShape(f) != fieldShape(g) {
			return false
		}
	}
	return true
}

// renamed holds the fields that mean the same under another name; all other fields with one number must have one name.
func renamed() map[string]string {
	return map[string]string{
		"path": "target_path", "mount": "target_path", "size": "size_bytes", "diskSize": "total_bytes",
		"volumeSize": "total_bytes", "volumeUsedSize": "used_bytes", "isOnline": "is_online", "is_mount_point": "is_symlink",
	}
}

// sameMeaning reports whether fields with the same number mean the same.
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
