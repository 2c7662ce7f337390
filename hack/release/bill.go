// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

const module = "github.com/kubernetes-csi/csi-proxy"

// bill returns the software bill of materials of a target's binaries: the modules whose packages are linked.
//
// https://cyclonedx.org/docs/1.6/json/
// https://github.com/package-url/purl-spec
func bill(version string, at time.Time, t target, modules []linked) ([]byte, error) {
	self := component(cyclonedx.ComponentTypeApplication, "csi-proxy", module, version, "Apache-2.0")
	self.PackageURL += "?goarch=" + t.arch + "&goos=" + t.system
	var components []cyclonedx.Component
	var needs []string
	for _, m := range modules {
		if m.path == module {
			continue
		}
		if m.own {
			m.version = version
		}
		components = append(components,
			component(cyclonedx.ComponentTypeLibrary, m.path, m.path, m.version, m.licenses...))
		needs = append(needs, purl(m.path, m.version))
	}
	b := cyclonedx.NewBOM()
	b.Metadata = &cyclonedx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &self}
	b.Components = &components
	b.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b,
		cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// component returns a module with its licences.
func component(kind cyclonedx.ComponentType, name, path, version string, licenses ...string) cyclonedx.Component {
	return cyclonedx.Component{Type: kind, Name: name, Version: version, BOMRef: purl(path, version),
		PackageURL: purl(path, version), Licenses: &cyclonedx.Licenses{{Expression: strings.Join(licenses, " AND ")}}}
}

func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }
