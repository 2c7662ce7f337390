// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A record is on the disk before it has its name: after a power loss it is whole, or the one before is.
func TestFlushedBeforeItCounts(t *testing.T) {
	defer func(before func(*os.File) error) { flush = before }(flush)
	d := New(t.TempDir())
	flushed := 0
	flush = func(f *os.File) error {
		flushed++
		if _, err := os.Lstat(strings.TrimSuffix(f.Name(), newSuffix)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the record has its name already: %v", err)
		}
		return f.Sync()
	}
	for _, err := range []error{d.Put(Use, Record{Remote: `\\fs\share`, Target: `C:\k`}),
		d.Put(Mapping, Record{Share: `\\fs\share`, Made: Made})} {
		if err != nil {
			t.Error(err)
		}
	}
	if flushed != 2 {
		t.Errorf("%d of 2 records were flushed", flushed)
	}
}
