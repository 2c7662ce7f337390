// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	released "github.com/kubernetes-csi/csi-proxy/client/api"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A method is a method of the API, of one group and version.
type method struct{ group, version, name string }

func (m method) String() string { return m.group + " " + m.version + " " + m.name }

// methods returns all that were ever released, with how each relates to its group's hub: by group, name and version,
// the newest version first.
func methods() (all []method, kinds map[method]string, err error) {
	files, err := released.Descriptors()
	if err != nil {
		return nil, nil, err
	}
	kinds = map[method]string{}
	for _, g := range versions.Groups() {
		for _, version := range append(g.Versions(), g.Hub) {
			d, err := files.FindDescriptorByName(protoreflect.FullName(g.ServiceName(version)))
			if err != nil {
				return nil, nil, err
			}
			service := d.(protoreflect.ServiceDescriptor).Methods() //nolint:forcetypeassert // it is the name of a service
			for i := range service.Len() {
				m := method{g.Name, version, string(service.Get(i).Name())}
				all = append(all, m)
				kinds[m] = "hub"
				for _, route := range g.Of(version) {
					if version != g.Hub && route.Method == m.name {
						kinds[m] = string(route.Kind)
					}
				}
			}
		}
	}
	slices.SortFunc(all, before)
	return all, kinds, nil
}

func before(a, b method) int {
	if a.group != b.group {
		return compare(a.group, b.group)
	}
	if a.name != b.name {
		return compare(a.name, b.name)
	}
	return int(apiversion.NewVersionOrPanic(b.version).Compare(apiversion.NewVersionOrPanic(a.version)))
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}
