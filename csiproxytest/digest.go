// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
)

// DiskDigest returns a digest of a disk's content, which stays the same while no byte of the disk changes.
func (n *Node) DiskDigest(number uint32) string {
	n.t.Helper()
	image, err := n.agent.Emulated().DiskImage(number)
	n.must("finding the image of a disk", err)
	return Digest(n.t, image)
}

// Digest returns a digest of a file, such as the image of a detached disk. It covers nonzero bytes and their offsets,
// so written zeros and holes are the same.
func Digest(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if err := digest(sum, f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

func digest(sum io.Writer, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros, buffer := make([]byte, 4096), make([]byte, 256<<10)
	for at, end := int64(0), int64(0); ; {
		if at == end {
			if at, end, err = emulated.NextData(f, at, info.Size()); err != nil || at == end {
				return err
			}
		}
		data := buffer[:min(int64(len(buffer)), end-at)]
		if _, err := f.ReadAt(data, at); err != nil {
			return err
		}
		for block := range slices.Chunk(data, len(zeros)) {
			if !bytes.Equal(block, zeros[:len(block)]) {
				_, _ = fmt.Fprintf(sum, "%d:%x", at, block)
			}
			at += int64(len(block))
		}
	}
}
