// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
)

// DiskDigest returns a digest of a disk's content, which stays the same while no byte of the disk changes.
func (n *Node) DiskDigest(number uint32) string {
	n.t.Helper()
	image, err := n.agent.Emulated().DiskImage(number)
	n.must("finding the image of a disk", err)
	return Digest(n.t, image)
}

// Digest returns a digest of a file, such as the image of a detached disk. It covers nonzero bytes and their offsets, so
// written zeros and holes are the same.
func Digest(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	zeros := make([]byte, 4096)
	err = eachExtent(f, func(offset int64, data []byte) {
		for at := 0; at < len(data); at += len(zeros) {
			if block := data[at:min(at+len(zeros), len(data))]; !bytes.Equal(block, zeros[:len(block)]) {
				_, _ = fmt.Fprintf(sum, "%d:%x", offset+int64(at), block)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}
