// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// document is what Add, Change and Remove take: lists of a scenario, whose elements have a few keys more.
type document struct {
	Disks         []disk            `yaml:"disks"`
	Services      []service         `yaml:"services"`
	Switches      scenario.Switches `yaml:"switches"`
	SMBUsers      []smb.User        `yaml:"smbUsers"`
	SMBServers    []smb.Server      `yaml:"smbServers"`
	SMBSessions   []smbSession      `yaml:"smbSessions"`
	ISCSIPortals  []portal          `yaml:"iscsiPortals"`
	ISCSISessions []iscsiSession    `yaml:"iscsiSessions"`

	node *emulated.Node
}

// verbs returns the methods whose requests are documents.
func verbs(n *emulated.Node) []server.Method {
	return []server.Method{
		answer("Get", node.LimitRead, func(r *api.GetRequest) (*api.GetResponse, error) {
			found, err := Get(n, r.GetPart(), r.GetWindowsPath())
			if err != nil {
				return nil, err
			}
			document, err := structpb.NewStruct(found)
			return &api.GetResponse{Document: document}, err
		}),
		answer("Add", node.LimitWrite, func(r *api.AddRequest) (*api.AddResponse, error) {
			added, err := eachOf(n, r.GetDocument(), func(l list) *step { return l.add })
			return &api.AddResponse{Document: added}, err
		}),
		change("Change", node.LimitWrite, func(r *api.ChangeRequest) error {
			_, err := eachOf(n, r.GetDocument(), func(l list) *step { return l.change })
			return err
		}),
		answer("Remove", node.LimitWrite, func(r *api.RemoveRequest) (*api.RemoveResponse, error) {
			removed, err := eachOf(n, r.GetDocument(), func(l list) *step { return l.remove })
			return &api.RemoveResponse{Document: removed}, err
		}),
	}
}

// eachOf reads a document, and takes the step of a verb with each element, in the order of the document's type. It
// stops at the first error, which says at which element, if there are more.
func eachOf(n *emulated.Node, request *structpb.Struct, verb func(list) *step) (*structpb.Struct, error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, invalid("the document is not JSON: %v", err)
	}
	d := &document{node: n}
	if _, err = strictyaml.Decode("", text, d); err != nil {
		return nil, err
	}
	all, given, elements := d.lists(), request.AsMap(), 0
	names := slices.DeleteFunc(strictyaml.Fields(reflect.TypeOf(*d)),
		func(name string) bool { return given[name] == nil })
	for _, name := range names {
		if verb(all[name]) == nil {
			return nil, strictyaml.At(invalid("this call does not take it"), name)
		}
		elements += len(elementsOf(given[name]))
	}
	if elements == 0 {
		return nil, invalid("the document lists nothing")
	}
	results := map[string]any{}
	for _, name := range names {
		key, step, done := all[name].key, verb(all[name]), []any{}
		for i, of := range elementsOf(given[name]) {
			e := element{at: i, given: of, answer: map[string]any{key: of[key]}}
			if err := step.check(key, of); err != nil {
				return nil, strictyaml.At(err, name, i)
			}
			if len(step.keys) > 0 && len(of) == 1 { // its name would not be looked up
				return nil, strictyaml.At(invalid("it has only its name, so there is nothing to do"), name, i)
			}
			if err := step.do(e); err != nil && elements > 1 {
				return nil, strictyaml.At(err, name, i)
			} else if err != nil {
				return nil, err
			}
			done = append(done, e.answer)
		}
		results[name] = done
	}
	return structpb.NewStruct(results)
}

// elementsOf returns the elements of a list, or a mapping as the only one.
func elementsOf(list any) (elements []map[string]any) {
	if one, is := list.(map[string]any); is {
		return append(elements, one)
	}
	for _, one := range list.([]any) {
		elements = append(elements, one.(map[string]any))
	}
	return elements
}

// check refuses an element without its name, or with keys that the step does not take.
func (s *step) check(name string, given map[string]any) error {
	if s.keys == nil {
		return nil
	}
	if given[name] == nil {
		return invalid("it has no %s", name)
	}
	for key := range given {
		if key != name && !slices.Contains(s.keys, key) {
			return strictyaml.At(invalid("this call does not take it"), key)
		}
	}
	return nil
}
