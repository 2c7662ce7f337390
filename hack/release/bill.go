// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
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
	self := own(cyclonedx.ComponentTypeApplication, "csi-proxy", version)
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
		components = append(components, cyclonedx.Component{
			Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			BOMRef: purl(m.path, m.version), PackageURL: purl(m.path, m.version), Licenses: expression(m.licenses),
		})
		needs = append(needs, purl(m.path, m.version))
	}
	return encoded(self, at, components, needs)
}

// own returns a component of this project.
func own(kind cyclonedx.ComponentType, name, version string) cyclonedx.Component {
	return cyclonedx.Component{Type: kind, Name: name, Version: version, BOMRef: purl(module, version),
		PackageURL: purl(module, version), Licenses: expression([]string{"Apache-2.0"})}
}

func encoded(self cyclonedx.Component, at time.Time, components []cyclonedx.Component, needs []string) ([]byte, error) {
	b := cyclonedx.NewBOM()
	b.Metadata = &cyclonedx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &self}
	b.Components = &components
	b.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(b,
		cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}

// baseImage finds the image on which deploy/image builds.
var baseImage = regexp.MustCompile(`(?m)^ARG BASE=(\S+):(\S+)$`)

// deployed writes the bills of materials of the image and of the chart. What is linked into the image's programs is in
// the bill of their archive.
func (r *release) deployed() error {
	dockerfile, err := os.ReadFile(filepath.Join(r.root, "deploy", "image", "Dockerfile"))
	if err != nil {
		return err
	}
	base := baseImage.FindSubmatch(dockerfile)
	if base == nil {
		return errors.New("deploy/image/Dockerfile names no base")
	}
	part := func(kind cyclonedx.ComponentType, name, version string) cyclonedx.Component {
		return cyclonedx.Component{Type: kind, Name: name, Version: version, BOMRef: name + "@" + version}
	}
	for name, needs := range map[string][]cyclonedx.Component{
		"image": {part(cyclonedx.ComponentTypeContainer, string(base[1]), string(base[2])),
			part(cyclonedx.ComponentTypeApplication, "csi-proxy.exe", r.version),
			part(cyclonedx.ComponentTypeApplication, "csi-proxyctl.exe", r.version)},
		"chart": {part(cyclonedx.ComponentTypeContainer, "csi-proxy", r.version)},
	} {
		kind := cyclonedx.ComponentTypeContainer
		if name == "chart" {
			kind = cyclonedx.ComponentTypeData
		}
		var refs []string
		for _, n := range needs {
			refs = append(refs, n.BOMRef)
		}
		bill, err := encoded(own(kind, "csi-proxy-"+name, r.version), r.time, needs, refs)
		if err == nil {
			err = r.write("csi-proxy-"+name+"-"+r.version+".cdx.json", bill)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func expression(names []string) *cyclonedx.Licenses {
	return &cyclonedx.Licenses{{Expression: strings.Join(names, " AND ")}}
}
