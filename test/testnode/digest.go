// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
)

// Digest is over the bytes of a file, the image of a disk for instance, that are not zero, and where they are. What is a
// hole and what are written zeros makes no difference.
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
