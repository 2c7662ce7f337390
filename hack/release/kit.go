// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
)

// kitPackages are what hack/build-prove.sh builds for Windows.
func kitPackages() []string {
	return []string{
		"./cmd/csi-proxy", "./cmd/csi-proxy-emulated", commandLine, "./cmd/csi-proxy-prove",
		"./test/bench", "./test/conformance", "./test/operation", "./test/sequences", "./test/windows",
	}
}

// kit writes the one file that tries the release on a machine, and its bill of materials:
// csi-proxy-prove-v1.2.3-windows-amd64.exe and .cdx.json. The licences of what is in it are in the zip at its end,
// because it travels alone.
func (r *release) kit(ctx context.Context, t target) error {
	linked, err := linkedModules(ctx, r.root, t, append([]string{"-test"}, kitPackages()...)...)
	if err != nil {
		return err
	}
	if err := allowed(linked); err != nil {
		return err
	}
	bill, err := bill(r.version, r.time, t, linked)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kit")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	texts := filepath.Join(dir, "texts")
	if err := os.Mkdir(texts, 0o700); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"LICENSE": license, "THIRD_PARTY_NOTICES.txt": notices(linked)} {
		if err := os.WriteFile(filepath.Join(texts, name), content, 0o600); err != nil {
			return err
		}
	}
	out := filepath.Join(dir, "kit.exe")
	if _, err := command(ctx, r.root, nil, "hack/build-prove.sh", t.system+"-"+t.arch, out, r.version, texts); err != nil {
		return err
	}
	packed, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	base := "csi-proxy-prove-" + r.version + "-" + t.system + "-" + t.arch
	if err := r.write(base+".exe", packed); err != nil {
		return err
	}
	return r.write(base+".cdx.json", bill)
}
