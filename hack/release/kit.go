// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
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
	notices, bill, err := r.materials(ctx, t, append([]string{"-test"}, kitPackages()...)...)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kit")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	texts := filepath.Join(dir, "texts")
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err := errors.Join(err, os.Mkdir(texts, 0o700),
		os.WriteFile(filepath.Join(texts, "LICENSE"), license, 0o600),
		os.WriteFile(filepath.Join(texts, "THIRD_PARTY_NOTICES.txt"), notices, 0o600)); err != nil {
		return err
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
	return errors.Join(r.write(base+".exe", packed), r.write(base+".cdx.json", bill))
}
