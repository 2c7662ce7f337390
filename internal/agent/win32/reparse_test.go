// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

func TestReparseLimits(t *testing.T) {
	longest := (MAXIMUM_REPARSE_DATA_BUFFER_SIZE - OffsetSymlinkNames - 4) / 2
	fits := ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, SubstituteName: strings.Repeat("a", longest)}
	got, err := ParseReparsePoint(fits.Bytes())
	if diff := cmp.Diff(got, fits); err != nil || diff != "" {
		t.Errorf("longest name: %v, -got +want:\n%s", err, diff)
	}
	for _, r := range []ReparsePoint{
		{Tag: IO_REPARSE_TAG_SYMLINK, SubstituteName: fits.SubstituteName + "a"},
		{Tag: IO_REPARSE_TAG_MOUNT_POINT, PrintName: strings.Repeat("a", 1<<16)},
		{Tag: deviceside.IO_REPARSE_TAG_LX_SYMLINK, Raw: make([]byte, MAXIMUM_REPARSE_DATA_BUFFER_SIZE-7)},
		{Tag: 1, Raw: make([]byte, MAXIMUM_REPARSE_DATA_BUFFER_SIZE-23)},
	} {
		if b := r.Bytes(); b != nil {
			t.Errorf("tag %#x: %d bytes, want none", r.Tag, len(b))
		}
	}
}

func TestReparseMalformed(t *testing.T) {
	link := ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, SubstituteName: `\??\C:\dir`, PrintName: `C:\dir`}.Bytes()
	for name, b := range map[string][]byte{
		"length behind the end":    patched(link, 4, uint32(len(link)-7)),
		"length without the names": patched(link, 4, 11),
		"odd offset":               patched(link, 8, 1|2<<16),
		"odd length":               patched(link, 8, 0|3<<16),
		"name behind the end":      patched(link, 12, 0|0xFFFE<<16),
		"offset behind the end":    patched(link, 12, 0xFFFE|0xFFFE<<16),
		"foreign without its GUID": patched(link[:20], 0, 1),
	} {
		if got, err := ParseReparsePoint(b); err == nil {
			t.Errorf("%s: parsed as %+v", name, got)
		}
	}
	if tag, err := deviceside.ParseDeleteReparsePoint(link); err == nil {
		t.Errorf("data in a request to delete: parsed as tag %#x", tag)
	}
}
