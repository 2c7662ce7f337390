// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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

// vex writes what scanners misread: they know the original's flaws by its module path, which this project has.
//
// https://github.com/openvex/spec/blob/main/OPENVEX-SPEC.md
func (r *release) vex() error {
	document := map[string]any{
		"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://openvex.dev/docs/csi-proxy-" + r.version,
		"author": "the maintainers of this CSI Proxy", "timestamp": r.time.Format(time.RFC3339), "version": 1,
		"statements": []any{map[string]any{
			"vulnerability": map[string]any{"name": "CVE-2023-3893", "aliases": []string{"GHSA-r6cc-7wj7-gfx2"}},
			"products":      []any{map[string]any{"@id": purl(module, r.version)}},
			"status":        "not_affected", "justification": "vulnerable_code_not_present",
			"impact_statement": "The flaw is in PowerShell commands that the original builds from arguments. " +
				"This program has the original's module path, none of its code, and starts no PowerShell.",
		}},
	}
	content, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return r.write("csi-proxy-"+r.version+".openvex.json", append(content, '\n'))
}
