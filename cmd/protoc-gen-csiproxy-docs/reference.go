// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A reference is everything from which the pages are made.
type reference struct {
	groups   []*apiGroup            // by name
	services map[string]*apiVersion // by the service's full name: "v1.Disk"
}

// An apiGroup is a group with its versions, oldest first.
type apiGroup struct {
	table    versions.Group // without hub and rows if there is no table yet
	versions []*apiVersion
}

// An apiVersion is one version of a group.
type apiVersion struct {
	group, name string
	file        *protogen.File
	service     *protogen.Service
}

// newReference collects the versions that the requested files declare. It fails on a file that has a service but
// declares no version.
func newReference(files []*protogen.File, tables []versions.Group) (*reference, error) {
	r := &reference{services: map[string]*apiVersion{}}
	groups := map[string]*apiGroup{}
	for _, file := range files {
		if !file.Generate || len(file.Services) == 0 {
			continue
		}
		v, err := newVersion(file)
		if err != nil {
			return nil, err
		}
		r.services[string(v.service.Desc.FullName())] = v
		if groups[v.group] == nil {
			groups[v.group] = &apiGroup{table: tableOf(tables, v.group)}
			r.groups = append(r.groups, groups[v.group])
		}
		groups[v.group].versions = append(groups[v.group].versions, v)
	}
	slices.SortFunc(r.groups, func(a, b *apiGroup) int { return strings.Compare(a.table.Name, b.table.Name) })
	for _, g := range r.groups {
		slices.SortFunc(g.versions, func(a, b *apiVersion) int {
			return int(apiversion.NewVersionOrPanic(a.name).Compare(apiversion.NewVersionOrPanic(b.name)))
		})
	}
	return r, nil
}

// newVersion reads group and version from a file's name: DIR/GROUP/VERSION/NAME.proto.
func newVersion(file *protogen.File) (*apiVersion, error) {
	dir, name := path.Split(path.Dir(file.Desc.Path()))
	group := path.Base(dir)
	if !apiversion.IsValidVersion(name) || group == "." {
		return nil, fmt.Errorf("%s: want the file of a service in GROUP/VERSION/", file.Desc.Path())
	}
	if len(file.Services) != 1 {
		return nil, fmt.Errorf("%s: %d services, want exactly one for an API version", file.Desc.Path(), len(file.Services))
	}
	return &apiVersion{group: group, name: name, file: file, service: file.Services[0]}, nil
}

func tableOf(tables []versions.Group, group string) versions.Group {
	for _, g := range tables {
		if g.Name == group {
			return g
		}
	}
	return versions.Group{Name: group}
}

// newest returns the newest version, and recommended the one that a new driver should use: the newest of the most
// mature ones.
func (g *apiGroup) newest() *apiVersion { return g.versions[len(g.versions)-1] }

func (g *apiGroup) recommended() *apiVersion {
	best := g.newest()
	for _, v := range slices.Backward(g.versions) {
		if maturity(v) > maturity(best) {
			best = v
		}
	}
	return best
}

// maturity orders the states.
func maturity(v *apiVersion) int { return slices.Index([]string{"alpha", "beta", "stable"}, v.state()) }

// state returns the state that the version's name implies.
func (v *apiVersion) state() string {
	for _, state := range []string{"alpha", "beta"} {
		if strings.Contains(v.name, state) {
			return state
		}
	}
	return "stable"
}

// route returns the row of a method, and false if there is none.
func (g *apiGroup) route(version, method string) (versions.Route, bool) {
	for _, r := range g.table.Of(version) {
		if r.Method == method {
			return r, true
		}
	}
	return versions.Route{}, false
}

// method reports whether the version's service has a method of that name.
func (v *apiVersion) method(name string) bool {
	return slices.ContainsFunc(v.service.Methods, func(m *protogen.Method) bool { return m.GoName == name })
}
