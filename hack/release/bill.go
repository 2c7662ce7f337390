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
	b := cyclonedx.NewBOM()
	self := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, Name: "csi-proxy", Version: version,
		BOMRef: purl(module, version), PackageURL: purl(module, version) + "?goarch=" + t.arch + "&goos=" + t.system,
		Licenses: expression([]string{"Apache-2.0"}),
	}
	b.Metadata = &cyclonedx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &self}
	var components []cyclonedx.Component
	var needs []string
	for _, m := range modules {
		if m.path == module {
			continue
		}
		if m.own {
			m.version = version
		}
		components = append(components, cyclonedx.Component{
			Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			BOMRef: purl(m.path, m.version), PackageURL: purl(m.path, m.version), Licenses: expression(m.licenses),
		})
		needs = append(needs, purl(m.path, m.version))
	}
	b.Components = &components
	b.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b,
		cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func expression(names []string) *cyclonedx.Licenses {
	return &cyclonedx.Licenses{{Expression: strings.Join(names, " AND ")}}
}
