// SPDX-License-Identifier: Apache-2.0

package main

import (
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error { return generate(plugin, versions.Groups()) })
}

// generate adds a page for each requested file that declares an API version, and the overview.
func generate(plugin *protogen.Plugin, tables []versions.Group) error {
	plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
	reference, err := newReference(plugin.Files, tables)
	if err != nil {
		return err
	}
	for _, g := range reference.groups {
		for _, v := range g.versions {
			p := &page{reference: reference, group: g, version: v}
			p.write()
			plugin.NewGeneratedFile(g.table.Name+"/"+v.name+".md", "").P(p.out.String())
		}
	}
	plugin.NewGeneratedFile("README.md", "").P(index(reference))
	return nil
}
