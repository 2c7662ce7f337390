// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

func TestPage83(t *testing.T) {
	device := func(codeSet uint32, text string) StorageIdentifier {
		return StorageIdentifier{CodeSet: codeSet, Association: StorageIdAssocDevice, Identifier: []byte(text)}
	}
	port := StorageIdentifier{CodeSet: StorageIdCodeSetAscii, Association: StorageIdAssocPort, Identifier: []byte("port")}
	target := StorageIdentifier{CodeSet: StorageIdCodeSetBinary, Association: StorageIdAssocTarget, Identifier: []byte{1}}
	for _, test := range []struct {
		name        string
		identifiers []StorageIdentifier
		want        string
	}{
		{"none", nil, ""},
		{"ASCII stays as it is", []StorageIdentifier{device(StorageIdCodeSetAscii, " Google  disk-01 ")},
			" Google  disk-01 "},
		{"binary in lower case", []StorageIdentifier{device(StorageIdCodeSetBinary, "\x60\x0A\xFF")}, "600aff"},
		{"only the device's", []StorageIdentifier{port, target, device(StorageIdCodeSetAscii, "disk")}, "disk"},
		{"first wins, whatever its type", []StorageIdentifier{device(StorageIdCodeSetBinary, "\x01"),
			device(StorageIdCodeSetAscii, "disk")}, "01"},
		{"UTF-8 is passed over", []StorageIdentifier{device(StorageIdCodeSetUtf8, "name"),
			device(StorageIdCodeSetAscii, "disk")}, "disk"},
		{"reserved code set is passed over", []StorageIdentifier{device(0, "name"), device(7, "name")}, ""},
		{"white space only is none", []StorageIdentifier{device(StorageIdCodeSetAscii, " \t "),
			device(StorageIdCodeSetAscii, "disk")}, ""},
		{"empty is none", []StorageIdentifier{device(StorageIdCodeSetBinary, "")}, ""},
		{"bytes that are not UTF-8", []StorageIdentifier{device(StorageIdCodeSetAscii, "disk\xE9")}, "diské"},
	} {
		if got := (StorageDeviceID{test.identifiers}).Page83(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestDescriptorSize(t *testing.T) {
	for _, test := range []struct {
		name   string
		header []byte
		want   uint32
		fails  bool
	}{
		{"of an example", deviceside.StorageDevice{SerialNumber: "1"}.Bytes(), 42, false},
		{"header only", binary.LittleEndian.AppendUint32(make([]byte, 4), 8), 8, false},
		{"largest", binary.LittleEndian.AppendUint32(make([]byte, 4), 1<<20), 1 << 20, false},
		{"too large", binary.LittleEndian.AppendUint32(make([]byte, 4), 1<<20+1), 0, true},
		{"too small", binary.LittleEndian.AppendUint32(make([]byte, 4), 7), 0, true},
		{"short header", make([]byte, 7), 0, true},
	} {
		if got, err := DescriptorSize(test.header); got != test.want || (err != nil) != test.fails {
			t.Errorf("%s: got %d, %v", test.name, got, err)
		}
	}
}

// patched returns b with a 32-bit number at an offset.
func patched(b []byte, at int, v uint32) []byte {
	b = append([]byte(nil), b...)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

func TestStorageDeviceStrings(t *testing.T) {
	d := StorageDevice{SerialNumber: "S1"}
	b := deviceside.StorageDevice{VendorID: "EMU", SerialNumber: "S1"}.Bytes()
	size := uint32(len(b) - 1)
	for name, in := range map[string][]byte{
		"both ways to say absent":                 patched(b, 16, 0xFFFFFFFF),
		"no NUL before the end":                   patched(b[:size], 4, size),
		"bytes behind the size are not looked at": patched(append(b[:size:size], "secret"...), 4, size),
	} {
		got, err := ParseStorageDevice(in)
		if diff := cmp.Diff(got, d); diff != "" || err != nil {
			t.Errorf("%s: %v, -got +want:\n%s", name, err, diff)
		}
	}
	for _, offset := range []uint32{1, 35, uint32(len(b)), 0x7FFFFFFF, 0xFFFFFFFE} {
		if got, err := ParseStorageDevice(patched(b, 24, offset)); err == nil {
			t.Errorf("serial number at %d parsed as %q", offset, got.SerialNumber)
		} else if !strings.Contains(err.Error(), "SerialNumberOffset") {
			t.Errorf("error %v names no field", err)
		}
	}
}

func TestStorageDeviceIDChains(t *testing.T) {
	d := StorageDeviceID{Identifiers: []StorageIdentifier{
		{StorageIdCodeSetBinary, deviceside.StorageIdTypeFCPHName, StorageIdAssocDevice, []byte("12345678")},
		{StorageIdCodeSetAscii, deviceside.StorageIdTypeVendorId, StorageIdAssocDevice, []byte("EMU")},
	}}
	b := deviceside.StorageDeviceID(d)
	const first, second = 12, 12 + 24
	for _, test := range []struct {
		name  string
		bytes []byte
		want  int // identifiers; negative: malformed
	}{
		{"as encoded", b, 2},
		{"count ends the list", patched(b, 8, 1), 1},
		{"count of none", patched(b, 8, 0), 0},
		{"next of 0 ends the list", patched(b, first+8, 8), 1},
		{"next points into the header", patched(b, first+8, 8|15<<16), -1},
		{"next points behind the end", patched(b, first+8, 8|0x7000<<16), -1},
		{"identifier larger than the rest", patched(b, second+8, 5), -1},
		{"count larger than the chain", patched(patched(b, 8, 0xFFFFFFFF), second+8, 3|20<<16), -1},
		{"size larger than the buffer", patched(b, 4, uint32(len(b)+1)), -1},
		{"size without the count", patched(b, 4, 11), -1},
	} {
		got, err := ParseStorageDeviceID(test.bytes)
		if (err != nil) != (test.want < 0) || err == nil && len(got.Identifiers) != test.want {
			t.Errorf("%s: got %d identifiers, %v, want %d", test.name, len(got.Identifiers), err, test.want)
		}
	}
}
