// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"os/exec"
	"strings"
	"testing"
)

// sgdisk makes Debian's gdisk check the tables of an image. Its exit code means nothing.
func sgdisk(t *testing.T, image string) {
	t.Helper()
	tool, err := exec.LookPath("sgdisk")
	if err != nil {
		t.Fatal("install the package gdisk: ", err)
	}
	out, err := exec.Command(tool, "-v", image).CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "No problems found") || strings.Contains(text, "Creating new GPT") {
		t.Errorf("sgdisk -v: %v\n%s", err, text)
	}
}

func onWine() bool { return false }
