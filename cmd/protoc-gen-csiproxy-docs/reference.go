// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A reference is everything from which the pages are made.
type reference struct {
	groups []*apiGroup       // by name
	places map[string]string // where v1.Disk and v1.Disk.Rescan are described: "disk.md", "disk.md#rescan"
}

// An apiGroup is a group with its versions, newest first.
type apiGroup struct {
	name     string
	table    versions.Group // empty if there is none yet
	versions []*apiVersion
}

// An apiVersion is one version of a group.
type apiVersion struct {
	group   *apiGroup
	name    string
	file    *protogen.File
	service *protogen.Service
}

// newReference collects the versions that the requested files declare: DIR/GROUP/VERSION/NAME.proto with a service.
func newReference(files []*protogen.File, tables []versions.Group) *reference {
	r := &reference{places: map[string]string{}}
	groups := map[string]*apiGroup{}
	for _, table := range tables {
		groups[table.Name] = &apiGroup{name: table.Name, table: table}
	}
	for _, file := range files {
		dir, version := path.Split(path.Dir(file.Desc.Path()))
		if !file.Generate || len(file.Services) == 0 || !apiversion.IsValidVersion(version) {
			continue
		}
		name := path.Base(dir)
		if groups[name] == nil {
			groups[name] = &apiGroup{name: name}
		}
		g := groups[name]
		g.versions = append(g.versions, &apiVersion{g, version, file, file.Services[0]})
	}
	for _, g := range groups {
		slices.SortFunc(g.versions, func(a, b *apiVersion) int {
			return int(apiversion.NewVersionOrPanic(b.name).Compare(apiversion.NewVersionOrPanic(a.name)))
		})
		if g.versions != nil {
			r.groups = append(r.groups, g)
		}
		for _, v := range g.versions {
			r.places[string(v.service.Desc.FullName())] = g.name + ".md"
			for _, m := range v.service.Methods {
				at := m
				if now := v.now(m.GoName); now != nil {
					at = now
				}
				r.places[string(m.Desc.FullName())] = g.name + ".md#" + strings.ToLower(at.GoName)
			}
		}
	}
	slices.SortFunc(r.groups, func(a, b *apiGroup) int { return strings.Compare(a.name, b.name) })
	return r
}

func (g *apiGroup) newest() *apiVersion { return g.versions[0] }

// recommended returns the version that a new driver should use: the newest of the most mature ones. The states are in
// the order of the alphabet.
func (g *apiGroup) recommended() *apiVersion {
	return slices.MaxFunc(g.versions, func(a, b *apiVersion) int { return strings.Compare(a.state(), b.state()) })
}

// without returns the versions that lack a method of the newest one.
func (g *apiGroup) without(m *protogen.Method) (names []string) {
	for _, old := range g.versions[1:] {
		if !slices.ContainsFunc(old.service.Methods, func(is *protogen.Method) bool { return old.now(is.GoName) == m }) {
			names = append(names, old.name)
		}
	}
	return names
}

// state returns the state that the version's name implies.
func (v *apiVersion) state() string {
	for _, state := range []string{"alpha", "beta"} {
		if strings.Contains(v.name, state) {
			return state
		}
	}
	return "stable"
}

// isMethods reports whether a message is a method's request or response.
func (v *apiVersion) isMethods(m *protogen.Message) bool {
	return slices.ContainsFunc(v.service.Methods, func(call *protogen.Method) bool {
		return m == call.Input || m == call.Output
	})
}

// now returns the method of the newest version that a method of this version is, or nil.
func (v *apiVersion) now(name string) *protogen.Method {
	for _, r := range v.group.table.Of(v.name) {
		if r.Method == name && r.Hub != "" {
			name = r.Hub
			break
		}
	}
	return v.group.newest().method(name)
}

// method returns the method of that name, or nil.
func (v *apiVersion) method(name string) *protogen.Method {
	for _, m := range v.service.Methods {
		if m.GoName == name {
			return m
		}
	}
	return nil
}
