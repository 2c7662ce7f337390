// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// tables are the rows of each group.
func tables() map[string][]Method {
	return map[string][]Method{
		"disk": diskMethods, "filesystem": filesystemMethods, "iscsi": iscsiMethods, "nodesteps": stepMethods,
		"smb": smbMethods, "system": systemMethods, "volume": volumeMethods,
	}
}

// known is what the tables say, in the forms in which it is asked for.
type known struct {
	all    []Method
	byName map[string]Method // a name is that of one method of all groups
	byPath map[string]Method // on the wire, in each version
	means  map[protoreflect.FullName]Meaning
	err    error
}

var methods = sync.OnceValue(func() known { return knownOf(tables()) })

func knownOf(rows map[string][]Method) (k known) {
	k = known{byName: map[string]Method{}, byPath: map[string]Method{}, means: map[protoreflect.FullName]Meaning{}}
	for _, g := range slices.Sorted(maps.Keys(rows)) {
		for _, m := range rows[g] {
			m.Group = g
			if err := k.add(m); k.err == nil { // a mistake keeps nodes from being made, and the tables complete
				k.err = err
			}
		}
	}
	for _, g := range versions.Groups() {
		for _, m := range k.all {
			if m.Group == g.Name && m.OnlyIn == "" {
				k.byPath["/"+g.ServiceName(g.Hub)+"/"+m.Name] = m
			}
		}
		for _, version := range g.Versions() {
			for _, r := range g.Of(version) {
				k.byPath["/"+g.ServiceName(version)+"/"+r.Method] = k.byName[cmp.Or(r.Hub, r.Method)]
			}
		}
	}
	return k
}

func (k *known) add(m Method) error {
	if _, again := k.byName[m.Name]; again {
		return fmt.Errorf("two methods are called %s", m.Name)
	}
	k.all, k.byName[m.Name] = append(k.all, m), m
	left := maps.Clone(m.meanings)
	if err := k.learn(m, "", m.NewRequest().ProtoReflect().Descriptor(), left); err != nil {
		return err
	}
	for field := range left {
		return fmt.Errorf("the request of %s/%s has no text %s", m.Group, m.Name, field)
	}
	return nil
}

// learn notes what the texts of a message name, and takes their fields from left. A text without a meaning is an error.
func (k *known) learn(m Method, above string, message protoreflect.MessageDescriptor, left fields) error {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		name := above + string(field.Name())
		text := field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind
		switch {
		case field.IsMap(), field.IsList() && text:
			return fmt.Errorf("the request of %s/%s has a list of texts, %s, which no rule can look at", m.Group, m.Name, name)
		case field.Message() != nil:
			if err := k.learn(m, name+".", field.Message(), left); err != nil {
				return err
			}
		case text:
			meaning := left[name]
			if meaning == 0 {
				return fmt.Errorf("the row of %s/%s does not say what the text %s of its request names", m.Group, m.Name, name)
			}
			if was := k.means[field.FullName()]; was != 0 && was != meaning {
				return fmt.Errorf("the rows do not agree on what %s names", field.FullName())
			}
			k.means[field.FullName()] = meaning
			delete(left, name)
		}
	}
	return nil
}

// Methods returns all methods, by group and in the order of its table.
func Methods() []Method { return slices.Clone(methods().all) }

// MethodAt returns the method that a path on the wire leads to, of any version: "/v1.Disk/ListDiskIDs".
func MethodAt(path string) (m Method, ok bool) {
	m, ok = methods().byPath[path]
	return m, ok
}

// MethodPaths returns the paths on the wire of all methods of all versions, sorted.
func MethodPaths() []string { return slices.Sorted(maps.Keys(methods().byPath)) }
