// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"io/fs"
	"os"
	"strings"
)

//go:embed package.json
var packageJSON string

// protos packs the API's .proto files as npm packs a package, csi-proxy-protos-1.2.3.tgz. They keep the paths of the
// repository, because those are the names under which protobuf registers them, whatever the language; docs/protos.md
// shows their use.
func (r *release) protos() error {
	root, version := os.DirFS(r.root), strings.TrimPrefix(r.version, "v")
	files := []file{{"package.json", []byte(strings.ReplaceAll(packageJSON, "VERSION", version)), 0o644}}
	names, err := fs.Glob(root, "client/api/*/*/*.proto")
	if err != nil {
		return err
	}
	for _, name := range append([]string{"LICENSE", "docs/protos.md", "client/api/api.proto"}, names...) {
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if name == "docs/protos.md" {
			name = "README.md"
		}
		files = append(files, file{name, content, 0o644})
	}
	packed, err := tarred("package", files, r.time)
	if err != nil {
		return err
	}
	return r.write("csi-proxy-protos-"+version+".tgz", packed)
}
