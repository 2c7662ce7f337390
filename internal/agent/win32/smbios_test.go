// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// goldenSMBIOS was written by hand after DSP0134 3.7, chapters 6.1, 7.1, 7.2 and 7.45, field by field.
const goldenSMBIOS = `
	00 03 07 00  58000000                          # RawSMBIOSData: method, version 3.7, revision, length 0x58
	00 12 0000  01 02 00E0 03 FF 0800000000000000  # type 0, BIOS, 18 bytes: vendor 1, version 2, segment, date 3, ROM size, characteristics
	41434D4500 312E3000 30312F30312F3230323600 00  # "ACME", "1.0", "01/01/2026", end of strings
	01 1B 0100  01 02 00 03                        # type 1, system, 27 bytes: manufacturer 1, product 2, version none, serial 3
	33221100554477668899AABBCCDDEEFF 06 00 00      # UUID, wake-up type 6, SKU and family none
	41434D4500 564D00 20532020 3120 00 00          # "ACME", "VM", " S  1 ", end of strings
	7F 04 FEFF 0000                                # type 127, end of table, no strings`

// fromHex decodes hexadecimal digits with blanks between them and comments after them.
func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for field := range strings.FieldsSeq(line) {
			digits.WriteString(field)
		}
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSMBIOSGolden(t *testing.T) {
	golden := fromHex(t, goldenSMBIOS)
	want := SMBIOS{
		{Type: 0, Data: fromHex(t, "010200E003FF0800000000000000"), Strings: []string{"ACME", "1.0", "01/01/2026"}},
		{
			Type: 1, Data: fromHex(t, "0102000333221100554477668899AABBCCDDEEFF060000"),
			Strings: []string{"ACME", "VM", " S  1 "},
		},
	}
	got, err := ParseSMBIOS(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if serial := got.SystemSerialNumber(); serial != " S  1" {
		t.Errorf("serial number %q, want the one of the firmware without blanks at its end", serial)
	}
	// The firmware chooses the handle of the end-of-table structure; ours is 2.
	golden[len(golden)-4], golden[len(golden)-3] = 2, 0
	if diff := cmp.Diff(hex.Dump(deviceside.SMBIOS(want)), hex.Dump(golden)); diff != "" {
		t.Errorf("encoded, -got +want:\n%s", diff)
	}
}

// table prefixes the bytes of a table with the header of RawSMBIOSData.
func table(t testing.TB, text string) []byte {
	t.Helper()
	body := fromHex(t, text)
	head := cstruct.Buffer{0, 3, 0, 0, 0, 0, 0, 0}
	head.PutU32(4, uint32(len(body)))
	return append(head, body...)
}

func TestSMBIOSOddTables(t *testing.T) {
	for name, c := range map[string]struct {
		in      []byte
		serial  string
		damaged bool
	}{
		"nothing":                          {nil, "", true},
		"header only":                      {table(t, ""), "", false},
		"no system information":            {table(t, "00 04 0000 0000 7F 04 0000 0000"), "", false},
		"no end of table":                  {table(t, "01 08 0000 00000001 4100 00"), "A", false},
		"serial number 0":                  {table(t, "01 08 0000 00000000 4100 00"), "", false},
		"serial number beyond the strings": {table(t, "01 08 0000 00000002 4100 00"), "", false},
		"older than serial numbers":        {table(t, "01 07 0000 010101 4100 00"), "", false},
		"blank serial number":              {table(t, "01 08 0000 00000001 202000 00"), "", false},
		"not UTF-8":                        {table(t, "01 08 0000 00000001 41FF42 00 00"), "A\uFFFDB", false},
		"system information after the end": {table(t, "7F 04 0000 0000 01 08 0000 00000001 4100 00"), "", false},
		"the first of two":                 {table(t, "01 08 0000 00000001 4100 00 01 08 0000 00000001 4200 00"), "A", false},
		"damage behind it":                 {table(t, "01 08 0000 00000001 4100 00 02 03 0000"), "A", true},
		"damage before it":                 {table(t, "02 03 0000 0000 01 08 0000 00000001 4100 00"), "", true},
		"structure longer than the table":  {table(t, "01 09 0000 00000001"), "", true},
		"strings without end":              {table(t, "01 08 0000 00000001 4100 42"), "", true},
		"table longer than the bytes":      {table(t, "01 08 0000 00000001 4100 00")[:18], "", true},
		"bytes behind the table":           {append(table(t, ""), 1, 2, 3), "", false},
	} {
		got, err := ParseSMBIOS(c.in)
		if layout := (*cstruct.LayoutError)(nil); c.damaged != errors.As(err, &layout) || c.damaged != (err != nil) {
			t.Errorf("%s: error %v, want a *LayoutError: %v", name, err, c.damaged)
		}
		if serial := got.SystemSerialNumber(); serial != c.serial {
			t.Errorf("%s: serial number %q, want %q", name, serial, c.serial)
		}
	}
}

// Values that cannot be encoded are changed into ones that can.
func TestSMBIOSEncodesWhatItCan(t *testing.T) {
	in := SMBIOS{{Type: 1, Data: make([]byte, 300), Strings: []string{"a\x00b", ""}}}
	got, err := ParseSMBIOS(deviceside.SMBIOS(in))
	if err != nil {
		t.Fatal(err)
	}
	want := SMBIOS{{Type: 1, Data: make([]byte, 251), Strings: []string{"a", " "}}}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func FuzzSMBIOS(f *testing.F) {
	f.Add(fromHex(f, goldenSMBIOS))
	f.Add(table(f, "01 08 0000 00000001 4100 42"))
	f.Add(table(f, "7F 04 0000 00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		roundTripBy(t, in, ParseSMBIOS, deviceside.SMBIOS)
		s, _ := ParseSMBIOS(in)
		if serial := s.SystemSerialNumber(); serial != strings.ToValidUTF8(serial, "") || strings.HasSuffix(serial, " ") {
			t.Errorf("serial number %q", serial)
		}
	})
}
