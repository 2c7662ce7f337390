// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Each script does what an installer of the field does with what it has fetched, and leaves csi-proxy.exe in out.
func TestInstallersFindTheAgent(t *testing.T) {
	built := t.TempDir()
	program := []byte("MZ, the agent")
	if err := os.WriteFile(filepath.Join(built, "csi-proxy.exe"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	r := release{version: testVersion, out: t.TempDir(), time: time.Unix(0, 0).UTC(), log: io.Discard}
	for _, arch := range []string{"amd64", "arm64"} {
		if err := r.fetched(target{"windows", arch}, built); err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{
		// rancher/wins: every entry whose name contains the program's goes into one file.
		"Rancher": `tar tzf "$1/csi-proxy-v1.2.3.tar.gz" | grep csi-proxy.exe | while read -r entry; do
			tar xOzf "$1/csi-proxy-v1.2.3.tar.gz" "$entry"; done >"$2/csi-proxy.exe"`,
		// AKS: the whole archive, then the program from its folder.
		"Azure":       `tar xzf "$1/csi-proxy-v1.2.3.tar.gz" -C "$2" && mv "$2/bin/csi-proxy.exe" "$2"`,
		"Azure arm64": `tar xzf "$1/csi-proxy-v1.2.3-arm64.tar.gz" -C "$2" && mv "$2/bin/csi-proxy.exe" "$2"`,
		"kube-up":     `cp "$1/csi-proxy.exe" "$2"`,
		"arm64":       `cp "$1/csi-proxy-arm64.exe" "$2/csi-proxy.exe"`,
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			if text, err := exec.Command("bash", "-euc", script, "install", r.out, out).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if got, err := os.ReadFile(filepath.Join(out, "csi-proxy.exe")); err != nil || !bytes.Equal(got, program) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestScannersGetOpenVEX(t *testing.T) {
	r := release{version: testVersion, out: t.TempDir(), time: time.Unix(0, 0).UTC(), log: io.Discard}
	if err := r.vex(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(r.out, "csi-proxy-v1.2.3.openvex.json"))
	if err != nil || !json.Valid(content) || !bytes.Contains(content, []byte("csi-proxy@v1.2.3")) ||
		!bytes.Contains(content, []byte(`"timestamp": "1970-01-01T00:00:00Z"`)) {
		t.Errorf("%v\n%s", err, content)
	}
}
