// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

func TestDirectoryEntriesLimit(t *testing.T) {
	entries := named("a", "bb", "ccc") // 70, 72+72, 144+74 bytes
	want := []DirectoryEntry{{Name: "a"}, {Name: "bb"}, {Name: "ccc"}}
	for _, test := range []struct{ limit, used, length int }{
		{0, 0, 0}, {69, 0, 0}, {70, 1, 70}, {143, 1, 70}, {144, 2, 144}, {217, 2, 144}, {218, 3, 218}, {1000, 3, 218},
	} {
		b, used := deviceside.DirectoryEntries(entries, test.limit)
		if used != test.used || len(b) != test.length {
			t.Errorf("limit %d: %d entries, %d bytes, want %d, %d", test.limit, used, len(b), test.used, test.length)
		}
		if used == 0 {
			continue
		}
		got, err := ParseDirectoryEntries(b)
		if diff := cmp.Diff(got, want[:used]); err != nil || diff != "" {
			t.Errorf("limit %d: %v, -got +want:\n%s", test.limit, err, diff)
		}
	}
}

func TestDirectoryEntriesMalformed(t *testing.T) {
	good := encodeEntries(named("a", "b"))
	for name, b := range map[string][]byte{
		"next behind the end":    patched(good, 0, 144),
		"next into itself":       patched(good, 0, 64),
		"next into the name":     patched(good, 0, 69),
		"next wraps around":      patched(good, 0, 0xFFFFFFF8),
		"empty name":             patched(good, 60, 0),
		"odd name":               patched(good, 60, 1),
		"name behind the end":    patched(good, 60, 0xFFFFFFFE),
		"name with a backslash":  encodeEntries(named(`..\x`)),
		"name with a slash":      encodeEntries(named(`../x`)),
		"name with a NUL":        encodeEntries(named("x\x00y")),
		"bad name after a chain": encodeEntries(named("a", `\`)),
	} {
		if got, err := ParseDirectoryEntries(b); err == nil {
			t.Errorf("%s: parsed as %+v", name, got)
		}
	}
	if got, err := ParseDirectoryEntries(append(good, "old bytes"...)); err != nil || len(got) != 2 {
		t.Errorf("bytes behind the chain: %+v, %v", got, err)
	}
}
