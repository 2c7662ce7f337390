// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"github.com/google/go-cmp/cmp"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// golden holds the C compilers' values: testdata/golden/layout.txt, made by testdata/abi/make.sh.
type golden struct {
	constants map[string]uint64
	sizes     map[string]int
	offsets   map[string]int
	objects   map[string][]byte
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden/layout.txt")
	if err != nil {
		t.Fatal(err)
	}
	g := golden{map[string]uint64{}, map[string]int{}, map[string]int{}, map[string][]byte{}}
	object := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if content, ok := strings.CutPrefix(line, "\t"); ok {
			b, err := hex.DecodeString(content)
			if err != nil {
				t.Fatal(err)
			}
			g.objects[object] = append(g.objects[object], b...)
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 2 {
			t.Fatalf("line %q", line)
		}
		if object = fields[1]; fields[0] == "bytes" {
			continue
		}
		v, err := strconv.ParseUint(fields[2], 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		switch fields[0] {
		case "const":
			g.constants[object] = v
		case "size":
			g.sizes[object] = int(v)
		case "offset":
			g.offsets[object] = int(v)
		}
	}
	return g
}

var (
	exampleGUID1 = guid.GUID{Data1: 0x01020304, Data2: 0x0506, Data3: 0x0708,
		Data4: [8]byte{9, 10, 11, 12, 13, 14, 15, 16}}
	exampleGUID2 = guid.GUID{Data1: 0x21222324, Data2: 0x2526, Data3: 0x2728,
		Data4: [8]byte{0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30}}
	exampleGUID3 = guid.GUID{Data1: 0x41424344, Data2: 0x4546, Data3: 0x4748,
		Data4: [8]byte{0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50}}
)

// goldenValue is a Go value that must encode to an object of layout.c and, unless parse is nil, decode from it.
type goldenValue struct {
	object string
	value  any
	bytes  []byte
	parse  func([]byte) (any, error)
	partly bool // the bytes have only what the agent reads of the object
}

// is makes a goldenValue of a type that has Bytes.
func is[T interface{ Bytes() []byte }](object string, value T, parse func([]byte) (T, error)) goldenValue {
	return number(object, value, value.Bytes(), parse)
}

// as makes a goldenValue of a type that package deviceside encodes.
func as[T any](object string, value T, encode func(T) []byte, parse func([]byte) (T, error)) goldenValue {
	return number(object, value, encode(value), parse)
}

// read makes a goldenValue of a structure of which package deviceside encodes what the agent reads.
func read[T any](object string, value T, encode func(T) []byte, parse func([]byte) (T, error)) goldenValue {
	v := as(object, value, encode, parse)
	v.partly = true
	return v
}

// fixed encodes a structure whose Go type has the fields of the C declaration.
func fixed[T any](value T) []byte { return cstruct.Encode(value) }

// partitionBytes encodes a partition, which the agent writes only in a table.
func partitionBytes(p Partition) []byte {
	return DriveLayout{Style: p.Style, Partitions: []Partition{p}}.Bytes()[48:]
}

// written is the parser of a structure that the agent does not read.
func written[T any](in []byte) (T, error) { return cstruct.Parse[T]("", in, binary.Size(*new(T))) }

// number makes a goldenValue of a structure that is a plain number in Go.
func number[T any](object string, value T, bytes []byte, parse func([]byte) (T, error)) goldenValue {
	return goldenValue{object: object, value: value, bytes: bytes,
		parse: func(b []byte) (any, error) { return parse(b) }}
}

var goldenValues = []goldenValue{
	as("storage_device_number", StorageDeviceNumber{0x11121314, 0x21222324, 0x31323334}, fixed,
		ParseStorageDeviceNumber),
	is("storage_property_query", StoragePropertyQuery{PropertyID: StorageDeviceIdProperty, QueryType: 1},
		deviceside.ParseStoragePropertyQuery),
	read("storage_device", StorageDevice{BusType: BusTypeNvme, ProductID: "Disk 1", SerialNumber: " vol01_0. "},
		describedDevice, ParseStorageDevice),
	read("storage_device_without_strings", StorageDevice{BusType: BusTypeiScsi}, describedDevice, ParseStorageDevice),
	as("storage_adapter", StorageAdapter{BusType: BusTypeSas}, deviceside.StorageAdapter, ParseStorageAdapter),
	as("storage_device_id", goldenIdentifiers, deviceside.StorageDeviceID, ParseStorageDeviceID),
	as("storage_device_unique_id", StorageUniqueID{
		DeviceID: deviceside.StorageDeviceID(goldenIdentifiers),
		Device:   deviceside.StorageDevice{BusType: BusTypeSas, SerialNumber: "S1"}.Bytes(),
	}, deviceside.StorageUniqueID, ParseStorageUniqueID),
	as("scsi_address", SCSIAddress{0x11, 0x22, 0x33, 0x44}, deviceside.SCSIAddress, ParseSCSIAddress),
	read("disk_geometry_ex", DiskGeometryEx{BytesPerSector: 0x51525354, DiskSize: 0x6162636465666768}, fixed,
		ParseDiskGeometryEx),
	as("length_information", 0x1112131415161718, fixed, ParseLengthInformation),
	as("get_disk_attributes", GetDiskAttributes{Version: SizeofGetDiskAttributes,
		Attributes: 0x2122232425262701}, fixed, ParseGetDiskAttributes),
	is("set_disk_attributes", SetDiskAttributes{Version: deviceside.SizeofSetDiskAttributes, Persist: true,
		Attributes: 0x2122232425262702, AttributesMask: 0x3132333435363738}, deviceside.Parse[SetDiskAttributes]),
	is("drive_layout_gpt", DriveLayout{
		Style: PARTITION_STYLE_GPT, DiskID: exampleGUID1,
		StartingUsableOffset: 0x1112131415161718, UsableLength: 0x2122232425262728, MaxPartitionCount: 0x31323334,
		Partitions: []Partition{
			{
				Style: PARTITION_STYLE_GPT, StartingOffset: 0x4142434445464748, Length: 0x5152535455565758, Number: 0x61626364,
				Rewrite: true, Type: PartitionMSR, ID: exampleGUID2, Attributes: 0x7172737475767778,
				Name: "Microsoft reserved partition",
			},
			{
				Style: PARTITION_STYLE_GPT, StartingOffset: 17408, Length: 1 << 20, Number: 2, Service: true,
				Type: PartitionBasicData, ID: exampleGUID3, Attributes: GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER,
				Name: "0123456789abcdefghijklmnopqrstuvw\U0001F4BE\xED\xA0\x80",
			},
			{Style: PARTITION_STYLE_RAW},
		},
	}, ParseDriveLayout),
	is("drive_layout_mbr", DriveLayout{
		Style: PARTITION_STYLE_MBR, Signature: 0x11121314, CheckSum: 0x21222324,
		Partitions: []Partition{
			{
				Style: PARTITION_STYLE_MBR, StartingOffset: 0x4142434445464748, Length: 0x5152535455565758, Number: 0x61626364,
				Rewrite: true, MBRType: 7, Boot: true, HiddenSectors: 0x71727374, MBRID: exampleGUID2,
			},
			{Style: PARTITION_STYLE_MBR, MBRType: 0x83, Recognized: true},
			{Style: PARTITION_STYLE_MBR},
		},
	}, ParseDriveLayout),
	is("create_disk_gpt", CreateDisk{Style: PARTITION_STYLE_GPT, DiskID: exampleGUID1, MaxPartitionCount: 0x11121314},
		deviceside.ParseCreateDisk),
	is("create_disk_mbr", CreateDisk{Style: PARTITION_STYLE_MBR, Signature: 0x21222324}, deviceside.ParseCreateDisk),
	is("grow_partition", GrowPartition{Number: 0x11121314, BytesToGrow: 0x2122232425262728}, deviceside.Parse[GrowPartition]),
	as("volume_disk_extents", VolumeDiskExtents{
		{DiskNumber: 0x11121314, StartingOffset: 0x2122232425262728, Length: 0x3132333435363738},
		{DiskNumber: 0x41424344, StartingOffset: 0x5152535455565758, Length: 0x6162636465666768},
	}, deviceside.VolumeDiskExtents, ParseVolumeDiskExtents),
	read("ntfs_volume_data", NTFSVolumeData{NumberSectors: 0x2122232425262728, BytesPerSector: 0x61626364,
		BytesPerCluster: 0x65666768}, fixed, ParseNTFSVolumeData),
	number("extend_volume", 0x1112131415161718, ExtendVolume(0x1112131415161718), deviceside.Parse[int64]),
	is("reparse_mount_point", ReparsePoint{
		Tag: IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\Volume{01020304-0506-0708-090a-0b0c0d0e0f10}\`,
	}, ParseReparsePoint),
	is("reparse_symlink", ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, SubstituteName: `\??\C:\dir`, PrintName: `C:\dir`},
		ParseReparsePoint),
	is("reparse_symlink_relative", ReparsePoint{Tag: IO_REPARSE_TAG_SYMLINK, SubstituteName: `..\a`, PrintName: "bc",
		Relative: true}, ParseReparsePoint),
	is("reparse_microsoft", ReparsePoint{Tag: deviceside.IO_REPARSE_TAG_LX_SYMLINK, Raw: []byte("\x02\x00\x00\x00/tmp")},
		ParseReparsePoint),
	is("reparse_foreign", ReparsePoint{Tag: 0x42, GUID: exampleGUID1, Raw: []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		ParseReparsePoint),
	number("delete_reparse_point", uint32(IO_REPARSE_TAG_MOUNT_POINT), DeleteReparsePoint(IO_REPARSE_TAG_MOUNT_POINT),
		deviceside.ParseDeleteReparsePoint),
	is("volume_mount_point", VolumeMountPoint{`\DosDevices\C:\dir`, `\??\Volume{01020304-0506-0708-090a-0b0c0d0e0f10}`},
		deviceside.ParseVolumeMountPoint),
	as("mountdev_name", `\Device\HarddiskVolume1`, deviceside.MountdevName, ParseMountdevName),
	is("mount_point", goldenMountPoints[0], deviceside.ParseMountPoint),
	as("mount_points", goldenMountPoints, deviceside.MountPoints, ParseMountPoints),
	read("file_basic", FileBasic{Attributes: 0x51525354}, FileBasic.Bytes, ParseFileBasic),
	read("file_standard_pending", false, deviceside.FileStandard, ParseFileStandard),
	read("file_standard_directory", true, deviceside.FileStandard, ParseFileStandard),
	as("file_attribute_tag", FileAttributeTag{0x11121314, 0x21222324}, fixed, ParseFileAttributeTag),
	number("file_disposition", true, FileDisposition(true), deviceside.Parse[bool]),
	number("file_disposition_ex", uint32(0x11121314), FileDispositionEx(0x11121314), deviceside.Parse[uint32]),
	as("file_fs_full_size", FileFsFullSize{0x1112131415161718, 0x2122232425262728, 0x3132333435363738, 0x41424344,
		0x51525354}, fixed, ParseFileFsFullSize),
	// the agent writes it only
	{object: "file_rename", bytes: FileRename{0x1112131415161718, "name"}.Bytes()},
	read("directory_entries", goldenEntries, encodeEntries, ParseDirectoryEntries),
}

var goldenEntries = []DirectoryEntry{
	{Name: ".", Attributes: FILE_ATTRIBUTE_DIRECTORY},
	{Name: "aé\U0001F4BE\xED\xB0\x80", Attributes: deviceside.FILE_ATTRIBUTE_ARCHIVE},
	{Name: "mounts", Attributes: FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT,
		ReparseTag: IO_REPARSE_TAG_SYMLINK},
}

// describedDevice encodes a STORAGE_DEVICE_DESCRIPTOR.
func describedDevice(d StorageDevice) []byte {
	return deviceside.StorageDevice{BusType: d.BusType, ProductID: d.ProductID, SerialNumber: d.SerialNumber}.Bytes()
}

var goldenMountPoints = []MountPoint{
	{`\??\Volume{01020304-0506-0708-090a-0b0c0d0e0f10}`, `\Device\HarddiskVolume1`},
	{`\DosDevices\C:\dir`, `\Device\HarddiskVolume1`},
}

var goldenIdentifiers = StorageDeviceID{Identifiers: []StorageIdentifier{
	{StorageIdCodeSetBinary, deviceside.StorageIdTypeFCPHName, StorageIdAssocPort,
		[]byte("\x60\x02\x24\x80EMU-DISK0001")},
	{StorageIdCodeSetAscii, deviceside.StorageIdTypeVendorId, StorageIdAssocDevice, []byte("Google  disk-01")},
	{StorageIdCodeSetUtf8, deviceside.StorageIdTypeScsiNameString, StorageIdAssocTarget, []byte("iqn.")},
}}

func allGoldenValues() []goldenValue { return slices.Concat(goldenValues, iscsiGoldenValues()) }

func encodeEntries(entries []DirectoryEntry) []byte {
	b, _ := deviceside.DirectoryEntries(entries, 1<<20)
	return b
}

// named returns entries with nothing but their names.
func named(names ...string) (entries []DirectoryEntry) {
	for _, name := range names {
		entries = append(entries, DirectoryEntry{Name: name})
	}
	return entries
}

func TestGoldenBytes(t *testing.T) {
	g := readGolden(t)
	seen := map[string]bool{}
	for _, v := range allGoldenValues() {
		t.Run(v.object, func(t *testing.T) {
			want, ok := g.objects[v.object]
			if !ok {
				t.Fatal("not in layout.txt")
			}
			seen[v.object] = true
			if diff := cmp.Diff(hex.Dump(v.bytes), hex.Dump(want)); diff != "" && !v.partly {
				t.Errorf("encoded (-got +want):\n%s", diff)
			}
			if v.parse == nil {
				return
			}
			for of, b := range map[string][]byte{"the compilers'": want, "ours": v.bytes} {
				got, err := v.parse(b)
				if diff := cmp.Diff(got, v.value); err != nil || diff != "" {
					t.Errorf("%s parsed: %v (-got +want):\n%s", of, err, diff)
				}
			}
		})
	}
	for object := range g.objects {
		if !seen[object] {
			t.Errorf("%s is in layout.txt, and no test uses it", object)
		}
	}
}

// TestShortBuffers cuts the last meaningful byte off every example: no parser may accept the rest.
func TestShortBuffers(t *testing.T) {
	lastNeeded := map[string]int{ // for structures whose last bytes are padding or an empty field
		"storage_property_query": 8, "disk_geometry_ex": 32,
		"iscsi_session_list": 140,
	}
	for _, v := range allGoldenValues() {
		t.Run(v.object, func(t *testing.T) {
			needed := len(v.bytes)
			if v.parse == nil {
				return
			}
			if n, ok := lastNeeded[v.object]; ok {
				needed = n
			}
			for n := range needed {
				if got, err := v.parse(v.bytes[:n:n]); err == nil {
					t.Fatalf("%d bytes parsed as %+v, needs %d", n, got, needed)
				} else if layout := (*cstruct.LayoutError)(nil); !errors.As(err, &layout) {
					t.Fatalf("%d bytes: error %v is a %T, want *LayoutError", n, err, err)
				}
			}
		})
	}
}

// packageConstants evaluates the constants of a package from its source.
func packageConstants(t *testing.T, pattern string) map[string]constant.Value {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range sourceFiles(t, pattern) {
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// Imports cannot be resolved, and no constant needs them.
	config := types.Config{Error: func(error) {}, Importer: noImports{}}
	pkg, _ := config.Check("win32", fset, files, nil)
	constants := map[string]constant.Value{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok {
			constants[name] = c.Val()
		}
	}
	return constants
}

type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("no %s here", path)
}

func sourceFiles(t *testing.T, patterns ...string) (names []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, slices.DeleteFunc(found,
			func(name string) bool { return strings.HasSuffix(name, "_test.go") })...)
	}
	return names
}

func TestGoldenConstants(t *testing.T) {
	g := readGolden(t)
	ours := packageConstants(t, "*.go")
	maps.Copy(ours, packageConstants(t, "../../emulated/deviceside/*.go"))
	if len(ours) < 200 {
		t.Fatalf("%d constants found in the source", len(ours))
	}
	for name, value := range ours {
		if !ast.IsExported(name) || strings.HasPrefix(name, "Sizeof") {
			continue
		}
		got, exact := constant.Uint64Val(constant.ToInt(value))
		want, ok := g.constants[name]
		if !ok || !exact {
			t.Errorf("%s = %v is not in layout.txt", name, value)
		} else if got != want {
			t.Errorf("%s = %#x, want %#x", name, got, want)
		}
	}
	for name := range g.constants {
		if _, ok := ours[name]; !ok {
			t.Errorf("%s is in layout.txt and in neither package", name)
		}
	}
}

func TestGoldenSizes(t *testing.T) {
	g := readGolden(t)
	ours := maps.Clone(Sizes)
	ours["STORAGE_DEVICE_DESCRIPTOR"], ours["STORAGE_ADAPTER_DESCRIPTOR"] = deviceside.SizeofStorageDevice,
		deviceside.SizeofStorageAdapter
	ours["STORAGE_DEVICE_ID_DESCRIPTOR"] = deviceside.SizeofStorageDeviceID
	ours["FILE_STANDARD_INFO"] = SizeofFileStandard
	ours["SET_DISK_ATTRIBUTES"] = deviceside.SizeofSetDiskAttributes
	if diff := cmp.Diff(ours, g.sizes); diff != "" {
		t.Errorf("sizes (-got +want):\n%s", diff)
	}
}

// TestGoldenOffsets compares the offsets in the encoders' source, and the field names in the comments beside them, with
// the compilers' offsets: a comment that names the wrong field is as bad as a wrong number.
func TestGoldenOffsets(t *testing.T) {
	g := readGolden(t)
	fields := map[string][]int{} // "Attributes": its offsets in all structures that have such a field
	for name, offset := range g.offsets {
		_, field, _ := strings.Cut(name, ".")
		fields[field] = append(fields[field], offset)
	}
	// b.PutU32(8, x) // Field, e[8] = x // Field, {12, x}, // Field, b.u32(8) // Field
	write := regexp.MustCompile(`(?:Put\w+\((?:at\+)?|U\d\d\(|b\[|^\s*\{)(\d+)\b.*// ([A-Z][\w.]+)`)
	checked := 0
	for _, name := range sourceFiles(t, "*.go", "../../emulated/deviceside/*.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			m := write.FindStringSubmatch(line)
			if len(m) == 0 || strings.Contains(m[2], "_") {
				continue
			}
			checked++
			offset, _ := strconv.Atoi(m[1])
			if !slices.Contains(fields[m[2]], offset) {
				t.Errorf("%s: %s: no structure has %s at %d, but at %v", name, strings.TrimSpace(line), m[2], offset, fields[m[2]])
			}
		}
	}
	if checked < 90 {
		t.Errorf("only %d offsets found in the source", checked)
	}
}
