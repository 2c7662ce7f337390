// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// FuzzParsers feeds every parser with every input: none may panic or fail with an error other than *LayoutError, and a
// value that one accepts must survive being encoded and parsed again.
func FuzzParsers(f *testing.F) {
	for _, v := range goldenValues {
		f.Add(v.bytes)
		f.Add(v.bytes[:len(v.bytes)/2])
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		roundTripBy(t, in, ParseStorageDeviceNumber, fixed)
		roundTrip(t, in, deviceside.ParseStoragePropertyQuery)
		roundTripBy(t, in, ParseStorageDevice, func(d StorageDevice) []byte {
			return deviceside.StorageDevice{BusType: d.BusType, ProductID: d.ProductID, SerialNumber: d.SerialNumber}.Bytes()
		})
		roundTripBy(t, in, ParseStorageAdapter, deviceside.StorageAdapter)
		roundTripBy(t, in, ParseStorageDeviceID, deviceside.StorageDeviceID)
		roundTripBy(t, in, ParseStorageUniqueID, deviceside.StorageUniqueID)
		roundTripBy(t, in, ParseSCSIAddress, deviceside.SCSIAddress)
		roundTripBy(t, in, ParseDiskGeometryEx, fixed)
		roundTripBy(t, in, ParseLengthInformation, fixed)
		roundTripBy(t, in, ParseGetDiskAttributes, fixed)
		roundTrip(t, in, deviceside.Parse[SetDiskAttributes])
		roundTrip(t, in, ParseDriveLayout)
		roundTripBy(t, in, ParsePartition, partitionBytes)
		roundTrip(t, in, deviceside.ParseCreateDisk)
		roundTrip(t, in, deviceside.Parse[GrowPartition])
		roundTripBy(t, in, ParseVolumeDiskExtents, deviceside.VolumeDiskExtents)
		roundTripBy(t, in, ParseNTFSVolumeData, fixed)
		_, _ = ParseFileStandard(in)
		roundTrip(t, in, ParseFileBasic)
		roundTripBy(t, in, ParseFileAttributeTag, fixed)
		roundTripBy(t, in, ParseFileFsFullSize, fixed)
		accepts(t, in, DescriptorSize)
		accepts(t, in, deviceside.Parse[int64])
		accepts(t, in, deviceside.Parse[bool])
		accepts(t, in, deviceside.Parse[uint32])
		accepts(t, in, deviceside.ParseDeleteReparsePoint)
		if entries, ok := accepts(t, in, ParseDirectoryEntries); ok {
			again, err := ParseDirectoryEntries(encodeEntries(entries))
			if diff := cmp.Diff(again, entries); err != nil || diff != "" {
				t.Errorf("%v, -again +first:\n%s", err, diff)
			}
		}
		if p, ok := accepts(t, in, deviceside.ParseVolumeMountPoint); ok && p.Bytes() != nil {
			roundTrip(t, p.Bytes(), deviceside.ParseVolumeMountPoint)
		}
		if p, ok := accepts(t, in, deviceside.ParseMountPoint); ok && p.Bytes() != nil {
			roundTrip(t, p.Bytes(), deviceside.ParseMountPoint)
		}
		accepts(t, in, ParseMountPoints)
		accepts(t, in, ParseMountdevName)
		if len(in) <= MAXIMUM_REPARSE_DATA_BUFFER_SIZE {
			if r, ok := accepts(t, in, ParseReparsePoint); ok && r.Bytes() != nil {
				roundTrip(t, r.Bytes(), ParseReparsePoint)
			}
		}
		if id, ok := accepts(t, in, ParseStorageDeviceID); ok {
			if text := id.Page83(); !utf8.ValidString(text) || text != "" && len(bytes.Fields([]byte(text))) == 0 {
				t.Errorf("page 83 is %q", text)
			}
		}
		if l, ok := accepts(t, in, ParseDriveLayout); ok {
			for _, p := range l.Partitions {
				if got := MaxLength(l, p); got < p.Length {
					t.Errorf("MaxLength of %+v is %d", p, got)
				}
			}
			planned, p, err := PlanDataPartition(l, 16*mib, counter())
			if err == nil && (p.Length < mib || len(planned.Partitions) <= len(l.Partitions)) {
				t.Errorf("planned %+v", p)
			}
		}
		if !bytes.Equal(in, before) {
			t.Error("a parser changed its input")
		}
	})
}

func accepts[T any](t *testing.T, in []byte, parse func([]byte) (T, error)) (T, bool) {
	t.Helper()
	value, err := parse(in)
	if layout := (*cstruct.LayoutError)(nil); err != nil && !errors.As(err, &layout) {
		t.Errorf("error %v is a %T, want *LayoutError", err, err)
	}
	return value, err == nil
}

func roundTrip[T interface{ Bytes() []byte }](t *testing.T, in []byte, parse func([]byte) (T, error)) {
	t.Helper()
	roundTripBy(t, in, parse, T.Bytes)
}

func roundTripBy[T any](t *testing.T, in []byte, parse func([]byte) (T, error), encode func(T) []byte) {
	t.Helper()
	first, ok := accepts(t, in, parse)
	if !ok {
		return
	}
	again, err := parse(encode(first))
	if err != nil {
		t.Errorf("%+v encodes to bytes that do not parse: %v", first, err)
	} else if diff := cmp.Diff(again, first); diff != "" {
		t.Errorf("-again +first:\n%s", diff)
	}
}

// FuzzUTF16: every sequence of units survives conversion to a string and back, and valid UTF-8 the reverse.
func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\x3D\xD8\xBE\xDC\x00\xD8\x00\xDC\x00\xDC\x00\xD8b\x00"), "aé\U0001F4BE\x00")
	f.Add([]byte("\xFD\xFF\x00\xD8"), "\xED\xA0\x80\xFF\xC3")
	f.Fuzz(func(t *testing.T, units []byte, text string) {
		units = units[:len(units)&^1]
		if got := cstruct.EncodeUTF16(cstruct.DecodeUTF16(units)); !bytes.Equal(got, units) {
			t.Errorf("units % x became % x", units, got)
		}
		if got := cstruct.DecodeUTF16(cstruct.EncodeUTF16(text)); utf8.ValidString(text) && got != text {
			t.Errorf("text %q became %q", text, got)
		}
	})
}
