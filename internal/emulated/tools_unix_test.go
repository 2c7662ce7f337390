// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

func TestToolsAgree(t *testing.T) {
	for _, sectorSize := range []uint32{512, 4096} {
		s := smallScenario()
		s.Disks[0].SectorSize = sectorSize
		n := openNode(t, t.TempDir(), Options{Scenario: s})
		formatted(t, n, oneDrive)
		v := firstData(n)
		if sectorSize == 512 { // sgdisk assumes sectors of 512 bytes in image files
			sgdisk(t, v.disk.image.Path)
			system := n.disks[0]
			sgdisk(t, system.image.Path)
		}
		part := filepath.Join(t.TempDir(), "partition")
		f, err := os.Create(part)
		must(t, err)
		_, err = io.Copy(f, io.NewSectionReader(v.disk.image.File, v.offset, 1<<20))
		must(t, err)
		must(t, f.Close())
		tool, err := exec.LookPath("file")
		if err != nil {
			t.Fatal("install the package file: ", err)
		}
		out, err := exec.Command(tool, "-b", part).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "NTFS") {
			t.Errorf("file, sectors of %d bytes: %v %s", sectorSize, err, out)
		}
	}
}

func onWine() bool { return false }
