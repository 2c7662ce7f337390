// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// document is what Add, Change and Remove take: lists of a scenario, whose elements have a few keys more.
type document struct {
	Disks []disk `yaml:"disks"`

	file *strictyaml.Document
}

// verbs returns the methods whose requests are documents.
func verbs(n *emulated.Node) []server.Method {
	return []server.Method{
		answer("Get", node.LimitRead, func(r *api.GetRequest) (*api.GetResponse, error) {
			found, err := get(n, r.GetPart())
			return &api.GetResponse{Document: found}, err
		}),
		answer("Add", node.LimitWrite, func(r *api.AddRequest) (*api.AddResponse, error) {
			added, err := eachOf(r.GetDocument(), func(d *document) lists {
				return lists{{"disks", len(d.Disks), func(i int) (any, error) { return d.addDisk(n, i) }}}
			})
			return &api.AddResponse{Document: added}, err
		}),
		change[api.ChangeResponse]("Change", func(r *api.ChangeRequest) error {
			_, err := eachOf(r.GetDocument(), func(d *document) lists {
				return lists{{"disks", len(d.Disks), func(i int) (any, error) { return nil, d.changeDisk(n, i) }}}
			})
			return err
		}),
		answer("Remove", node.LimitWrite, func(r *api.RemoveRequest) (*api.RemoveResponse, error) {
			removed, err := eachOf(r.GetDocument(), func(d *document) lists {
				return lists{{"disks", len(d.Disks), func(i int) (any, error) { return d.removeDisk(n, i) }}}
			})
			return &api.RemoveResponse{Document: removed}, err
		}),
	}
}

// get returns a part of a node; empty: all parts.
func get(n *emulated.Node, part string) (*structpb.Struct, error) {
	parts := map[string]func() (any, error){
		"detachedDisks": func() (any, error) { return detachedDisks(n) },
	}
	if part != "" && parts[part] == nil {
		return nil, errdefs.NotFound.Errorf("NOT_FOUND", "a node has no %q", part)
	}
	found := map[string]any{}
	for name, of := range parts {
		if part != "" && part != name {
			continue
		}
		value, err := of()
		if err != nil {
			return nil, err
		}
		found[name] = value
	}
	return structpb.NewStruct(found)
}

// lists are what a verb does with the elements of a document's lists.
type lists []struct {
	name     string
	elements int
	do       func(i int) (any, error)
}

// eachOf reads a document, and does what a verb does with each element. It stops at the first error, which says at which
// element, if there are more.
func eachOf(request *structpb.Struct, verb func(*document) lists) (*structpb.Struct, error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, invalid("the document is not JSON: %v", err)
	}
	d := &document{}
	if d.file, err = strictyaml.Decode("", text, d); err != nil {
		return nil, err
	}
	all, elements, results := verb(d), 0, map[string]any{}
	for _, list := range all {
		elements += list.elements
	}
	if elements == 0 {
		return nil, invalid("the document lists nothing")
	}
	for _, list := range all {
		var done []any
		for i := range list.elements {
			result, err := list.do(i)
			if err != nil && elements > 1 {
				err = strictyaml.At(err, list.name, i)
			}
			if err != nil {
				return nil, err
			}
			done = append(done, result)
		}
		if len(done) > 0 {
			results[list.name] = done
		}
	}
	return structpb.NewStruct(results)
}

// each calls a function for each key of an element, in the order of its type's fields. Keys without a function are
// refused before; a nil one is that of the name.
func (d *document) each(of any, list string, i int, does string, by map[string]func() error) error {
	var given []string
	for _, key := range strictyaml.Fields(reflect.TypeOf(of)) {
		if !d.file.Has(list, i, key) {
			continue
		}
		if _, is := by[key]; !is {
			return strictyaml.At(invalid("%s does not take it", does), list, i, key)
		}
		given = append(given, key)
	}
	for key, do := range by {
		if do == nil && !slices.Contains(given, key) {
			return strictyaml.At(invalid("it has no %s", key), list, i)
		}
	}
	for _, key := range given {
		if do := by[key]; do != nil {
			if err := do(); err != nil {
				return err
			}
		}
	}
	return nil
}
