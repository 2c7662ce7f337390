// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"

	"google.golang.org/protobuf/compiler/protogen"
)

// A apiPackage is the API version of a Go package of stubs, and its module: the
// package is <module>/api/<group>/<version>.
type apiPackage struct {
	module, group, version string
}

// apiPackageOf reads the version of a package of stubs from its import path. It
// reports false for a path of another shape.
func apiPackageOf(importPath protogen.GoImportPath) (apiPackage, bool) {
	groupDir, version := path.Split(string(importPath))
	apiDir, group := path.Split(path.Clean(groupDir))
	module, api := path.Split(path.Clean(apiDir))
	if api != "api" || module == "" {
		return apiPackage{}, false
	}
	return apiPackage{module: path.Clean(module), group: group, version: version}, true
}

// clientPackage returns the import path of the client of this version.
func (p apiPackage) clientPackage() protogen.GoImportPath {
	return protogen.GoImportPath(path.Join(p.module, "groups", p.group, p.version))
}

// check refuses a file that doesn't declare exactly one service of unary methods in the package of its version: the
// endpoints and the version routing rely on that shape.
func check(file *protogen.File, p apiPackage) error {
	if got, want := string(file.Desc.Package()), tableOf(p.group).Package(p.version); got != want {
		return fmt.Errorf("%s: proto package is %q, want %q, by its folder and its group's table", file.Desc.Path(), got,
			want)
	}
	if got := len(file.Services); got != 1 {
		return fmt.Errorf("%s: %d services, want exactly one for an API version", file.Desc.Path(), got)
	}
	for _, method := range file.Services[0].Methods {
		if method.Desc.IsStreamingClient() || method.Desc.IsStreamingServer() {
			return fmt.Errorf("%s: method %s streams, want unary methods only", file.Desc.Path(), method.Desc.FullName())
		}
		if method.GoName == "Close" {
			return fmt.Errorf("%s: method %s collides with the client's own Close", file.Desc.Path(), method.Desc.FullName())
		}
	}
	return nil
}
