// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"os"
	"testing"
)

// holdName makes renaming the file fail until release is called: a reader has it open.
func holdName(t *testing.T, path string) (release func()) {
	t.Helper()
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = reader.Close() }
}
