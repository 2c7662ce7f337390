// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fetched writes the agent as installers of distributions fetch it: alone in an archive as bin/csi-proxy.exe, and as a
// bare file. Rancher's script writes every entry whose name contains csi-proxy.exe into one file; those of Azure, and
// of drivers' tests, unpack bin\csi-proxy.exe; kube-up fetches the bare file.
func (r *release) fetched(t target, dir string) error {
	program, err := os.ReadFile(filepath.Join(dir, "csi-proxy.exe"))
	if err != nil {
		return err
	}
	suffix := ""
	if t.arch != "amd64" {
		suffix = "-" + t.arch
	}
	packed, err := tarred("bin", []file{{"csi-proxy.exe", program, 0o755}}, r.time)
	if err != nil {
		return err
	}
	return errors.Join(r.write("csi-proxy-"+r.version+suffix+".tar.gz", packed),
		r.write("csi-proxy"+suffix+".exe", program))
}

//go:embed openvex.json
var openVEX string

// vex writes what scanners misread: they know the original's flaws by its module path, which this project has.
//
// https://github.com/openvex/spec/blob/main/OPENVEX-SPEC.md
func (r *release) vex() error {
	content := strings.NewReplacer("VERSION", r.version, "TIME", r.time.Format(time.RFC3339)).Replace(openVEX)
	return r.write("csi-proxy-"+r.version+".openvex.json", []byte(content))
}
