// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed package.json
var packageJSON string

// protos packs the API's .proto files as npm packs a package, csi-proxy-protos-1.2.3.tgz. They keep the paths of the
// repository, because those are the names under which protobuf registers them, whatever the language; docs/protos.md
// shows their use.
func (r *release) protos() error {
	version := strings.TrimPrefix(r.version, "v")
	manifest := []byte(strings.ReplaceAll(packageJSON, "VERSION", version))
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "docs", "protos.md"))
	if err != nil {
		return err
	}
	files := []file{{"package.json", manifest, 0o644}, {"LICENSE", license, 0o644},
		{"README.md", readme, 0o644}}
	api := filepath.Join(r.root, "client", "api")
	err = filepath.WalkDir(api, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".proto" {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // of the repository
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.root, path)
		files = append(files, file{filepath.ToSlash(name), content, 0o644})
		return err
	})
	if err != nil {
		return err
	}
	packed, err := tarred("package", files, r.time)
	if err != nil {
		return err
	}
	return r.write("csi-proxy-protos-"+version+".tgz", packed)
}
