// SPDX-License-Identifier: Apache-2.0

// Protoc-gen-go-csiproxy generates the drop-in clients: for the service in <module>/api/<group>/<version> a package
// <module>/groups/<group>/<version> with a Client that dials that version's endpoint. It also writes the package
// comment of the stubs. With the option library=MODULE it generates the groups of the in-process library in its place:
// requests, responses and the calls whose fields need no conversion.
//
// It is a protoc plugin and takes the options of protoc-gen-go; the useful one of these is module. Files without a
// service, and services outside an api folder, get no client. Adding a version to the API needs no change here.
package main

import (
	"flag"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

func main() {
	var flags flag.FlagSet
	library := flags.String("library", "", "module of the in-process library to generate, in place of clients")
	protogen.Options{ParamFunc: flags.Set}.Run(func(plugin *protogen.Plugin) error { return generate(plugin, *library) })
}

// generate adds, unless there is a library to make, a client package for each requested file that declares an API
// version, and a package comment to its stubs, which have none from protoc-gen-go. A further package imports all stubs,
// and csiproxy.Client has the newest ones, so it is to be run once for all files of a module. It fails on a declaration
// for which no client can be made.
func generate(plugin *protogen.Plugin, library string) error {
	plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
	var stubs []protogen.GoImportPath
	var newest []*protogen.File
	module := ""
	for _, file := range plugin.Files {
		if !file.Generate || len(file.Services) == 0 {
			continue
		}
		pkg, ok := apiPackageOf(file.GoImportPath)
		if !ok {
			continue
		}
		if err := check(file, pkg); err != nil {
			return err
		}
		if library != "" {
			if err := generateLibrary(plugin, library, file, pkg); err != nil {
				return err
			}
			continue
		}
		generateStubDoc(plugin, file, pkg)
		if err := generateClient(plugin, file, pkg); err != nil {
			return err
		}
		stubs, module = append(stubs, file.GoImportPath), pkg.module
		if tableOf(pkg.group).Hub == pkg.version {
			newest = append(newest, file)
		}
	}
	if len(stubs) > 0 {
		generateImports(plugin, module, stubs)
		generateMessages(plugin, module, "csiproxy", newest)
	}
	return nil
}

// tableOf returns the table of a group, the zero value if there is none.
func tableOf(group string) versions.Group {
	for _, g := range versions.Groups() {
		if g.Name == group {
			return g
		}
	}
	return versions.Group{}
}
