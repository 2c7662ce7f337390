// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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
	file *strictyaml.Document
}

// verbs returns the methods whose requests are documents.
func verbs(n *emulated.Node) []server.Method {
	return []server.Method{
		answer("Get", node.LimitRead, func(r *api.GetRequest) (*api.GetResponse, error) {
			found, err := get(n, r.GetPart(), r.GetWindowsPath())
			if err != nil {
				return nil, err
			}
			document, err := structpb.NewStruct(found)
			return &api.GetResponse{Document: document}, err
		}),
		answer("Add", node.LimitWrite, func(r *api.AddRequest) (*api.AddResponse, error) {
			added, err := eachOf(n, r.GetDocument(), func(l list) handler { return l.add })
			return &api.AddResponse{Document: added}, err
		}),
		change("Change", node.LimitWrite, func(r *api.ChangeRequest) error {
			_, err := eachOf(n, r.GetDocument(), func(l list) handler { return l.change })
			return err
		}),
		answer("Remove", node.LimitWrite, func(r *api.RemoveRequest) (*api.RemoveResponse, error) {
			removed, err := eachOf(n, r.GetDocument(), func(l list) handler { return l.remove })
			return &api.RemoveResponse{Document: removed}, err
		}),
	}
}

// A handler does what a verb asks for with an element of a list, and returns what the answer says of it.
type handler func(i int) (any, error)

// A list of a document, with what the verbs do; nil: they do not take it.
type list struct {
	elements            int
	add, change, remove handler
}

func (d *document) lists() map[string]list {
	return map[string]list{
		"disks":         {len(d.Disks), d.addDisk, d.changeDisk, d.removeDisk},
		"services":      {len(d.Services), nil, d.changeService, nil},
		"switches":      {1, nil, d.changeSwitches, nil},
		"smbUsers":      {len(d.SMBUsers), d.addUser, d.changeUser, d.removeUser},
		"smbServers":    {len(d.SMBServers), d.addShares, d.changeServer, d.removeShares},
		"smbSessions":   {len(d.SMBSessions), nil, nil, d.dropSMB},
		"iscsiPortals":  {len(d.ISCSIPortals), nil, d.changePortal, nil},
		"iscsiSessions": {len(d.ISCSISessions), nil, nil, d.dropISCSI},
	}
}

// get returns a part of a node, perhaps one that is of a path; empty: all parts of no path.
func get(n *emulated.Node, part, path string) (map[string]any, error) {
	ofPath := map[string]func() (any, error){
		"hostPath":   func() (any, error) { return n.HostPath(path) },
		"linkTarget": func() (any, error) { return n.Readlink(path) },
		"access":     func() (any, error) { return access(n, path) },
	}
	if of := ofPath[part]; of != nil {
		value, err := of()
		return map[string]any{part: value}, err
	}
	servers, portals := Network(n)
	parts := map[string]func() (any, error){
		"detachedDisks": func() (any, error) { return detachedDisks(n) },
		"services":      func() (any, error) { return serviceList(n), nil },
		"switches":      func() (any, error) { return switches(n), nil },
		"smbServers":    func() (any, error) { return servers, nil },
		"smbUsers":      func() (any, error) { return users(n), nil },
		"iscsiPortals":  func() (any, error) { return portals, nil },
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
	return found, nil
}

// access returns the access list of the root directory of the volume at a path.
func access(n *emulated.Node, path string) (any, error) {
	entries, err := n.RootAccess(strings.TrimSuffix(path, `\`) + `\`)
	return listed(entries, func(e win32.AccessEntry) any {
		return map[string]any{"sid": string(e.SID), "mask": e.Mask,
			"inherited": e.Flags&(win32.OBJECT_INHERIT_ACE|win32.CONTAINER_INHERIT_ACE) != 0}
	}), err
}

// listed returns a list for a document.
func listed[T any](list []T, as func(T) any) []any {
	all := []any{}
	for _, element := range list {
		all = append(all, as(element))
	}
	return all
}

// eachOf reads a document, and does what a verb does with each element, in the order of the document's type. It stops
// at the first error, which says at which element, if there are more.
func eachOf(n *emulated.Node, request *structpb.Struct, verb func(list) handler) (*structpb.Struct, error) {
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, invalid("the document is not JSON: %v", err)
	}
	d := &document{node: n}
	if d.file, err = strictyaml.Decode("", text, d); err != nil {
		return nil, err
	}
	all, elements, results := d.lists(), 0, map[string]any{}
	var names []string
	for _, name := range strictyaml.Fields(reflect.TypeOf(*d)) {
		if !d.file.Has(name) {
			continue
		}
		if verb(all[name]) == nil {
			return nil, strictyaml.At(invalid("this call does not take it"), name)
		}
		names, elements = append(names, name), elements+all[name].elements
	}
	if elements == 0 {
		return nil, invalid("the document lists nothing")
	}
	for _, name := range names {
		var done []any
		for i := range all[name].elements {
			result, err := verb(all[name])(i)
			if err != nil && elements > 1 {
				err = strictyaml.At(err, name, i)
			}
			if err != nil {
				return nil, err
			}
			done = append(done, result)
		}
		results[name] = done
	}
	return structpb.NewStruct(results)
}

// each calls a function for each key of an element, in the order of its type's fields. Keys without a function are
// refused before; a nil one is for a key that the element must have: its name. An element with no more than that is
// refused where more can be done, since its name is not looked up.
func (d *document) each(of any, by map[string]func() error, path ...any) error {
	var given []string
	for _, key := range strictyaml.Fields(reflect.TypeOf(of)) {
		if !d.file.Has(append(path, key)...) {
			continue
		}
		if _, is := by[key]; !is {
			return strictyaml.At(invalid("this call does not take it"), append(path, key)...)
		}
		given = append(given, key)
	}
	names := 0
	for key, do := range by {
		if do != nil {
			continue
		}
		if names++; !slices.Contains(given, key) {
			return strictyaml.At(invalid("it has no %s", key), path...)
		}
	}
	if names > 0 && names < len(by) && len(given) == names && len(path) == 2 {
		return strictyaml.At(invalid("it has only its name, so there is nothing to do"), path...)
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
