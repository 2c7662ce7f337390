// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
)

// checkImages has sgdisk and file check every disk of the node, whose agent is idle or gone.
func checkImages(t *testing.T, dir string, team []*crashDriver) {
	t.Helper()
	images, err := filepath.Glob(filepath.Join(dir, "disks", "*.disk", "disk.img"))
	if err != nil || len(images) == 0 {
		t.Fatalf("no images of disks in %s: %v", dir, err)
	}
	for _, image := range images {
		checkImage(t, image, team)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "node.json")); err != nil || strings.Contains(string(text), `"changes"`) {
		t.Errorf("after the start there are unfinished changes, or node.json cannot be read: %v", err)
	}
}

func checkImage(t *testing.T, image string, team []*crashDriver) {
	t.Helper()
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	verdict := run(t, "sgdisk", "-v", image)
	switch {
	case strings.Contains(verdict, "Creating new GPT"):
		// There is no table. Then there is nothing at all: a table is made whole or not at all.
		if !blank(t, f, 0, 1<<20) || !blank(t, f, size-1<<20, 1<<20) {
			t.Errorf("sgdisk finds no GPT on %s, which is not blank:\n%s", image, verdict)
		}
		return
	case strings.Contains(verdict, "No problems found"):
	case strings.Contains(verdict, "Identified 1 problems") &&
		strings.Contains(verdict, "doesn't reside\nat the end of the disk") && size == crashGrownBytes:
		// The disk was grown and its volume not resized yet.
	default:
		t.Errorf("sgdisk finds problems on %s, %s:\n%s", image, sizeText(size), verdict)
	}

	table, err := gpt.Read(f, 512, size)
	if err != nil {
		t.Errorf("%s: %v", image, err)
		return
	}
	for _, p := range table.Partitions {
		if p.Type != win32.PartitionBasicData {
			continue
		}
		for _, d := range team {
			if strings.Contains(strings.ToLower(d.life.id), p.ID.String()) && slices.Contains(d.life.acked, "format") {
				checkNTFS(t, f, int64(p.First)*512)
			}
		}
	}
}

// checkNTFS shows the beginning of a partition to file.
func checkNTFS(t *testing.T, image io.ReaderAt, offset int64) {
	t.Helper()
	head := make([]byte, 64<<10)
	if _, err := image.ReadAt(head, offset); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "partition")
	if err := os.WriteFile(path, head, 0o600); err != nil {
		t.Fatal(err)
	}
	if verdict := run(t, "file", "-b", path); !strings.Contains(verdict, "NTFS") {
		t.Errorf("file says of a formatted partition at %d: %s", offset, verdict)
	}
}

func blank(t *testing.T, image io.ReaderAt, offset int64, length int) bool {
	t.Helper()
	content := make([]byte, length)
	if _, err := image.ReadAt(content, offset); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(content, make([]byte, length))
}
