// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Size is a number of bytes, in a file a number or a text with a unit.
type Size int64

const sizes = "bytes, or a text such as 10GiB, at most 16TiB"

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (s *Size) UnmarshalYAML(decode func(any) error) error {
	var text string
	var number uint64
	if decode(&number) == nil {
		text = fmt.Sprintf("%dB", number)
	} else if decode(&text) != nil {
		return errors.New("it must be " + sizes)
	}
	bytes, ok := parseSize(text)
	if !ok {
		return fmt.Errorf("it is %q; it must be %s", text, sizes)
	}
	*s = Size(bytes)
	return nil
}

// parseSize parses a decimal number with a binary unit, with or without its B: 1.5GiB, 512 Mi, 4096B. The result must
// be whole bytes, from 1 to MaxSize.
func parseSize(text string) (int64, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end <= 0 || end > 20 || text[0] == '.' {
		return 0, false
	}
	shift, ok := map[string]int{"B": 0, "KiB": 10, "Ki": 10, "MiB": 20, "Mi": 20, "GiB": 30, "Gi": 30, "TiB": 40,
		"Ti": 40}[strings.TrimPrefix(text[end:], " ")]
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseFloat(text[:end], 64)
	bytes := math.Ldexp(number, shift) // exact
	if err != nil || bytes != math.Trunc(bytes) || bytes <= 0 || bytes > MaxSize {
		return 0, false
	}
	return int64(bytes), true
}

// wordIndex returns the index of a word among the allowed ones, in any case. An index whose word is empty is invalid.
func wordIndex(word string, allowed ...string) (int, error) {
	i := slices.IndexFunc(allowed, func(a string) bool { return a != "" && strings.EqualFold(a, word) })
	if i < 0 {
		words := slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" })
		return 0, fmt.Errorf("it is %q; it must be one of %s", word, strings.Join(words, ", "))
	}
	return i, nil
}

// DecodeWord reads a word, in any case, whose index among the allowed ones is the value.
func DecodeWord[T ~uint8 | ~uint32](to *T, decode func(any) error, allowed ...string) error {
	var word string
	if err := decode(&word); err != nil {
		return err
	}
	i, err := wordIndex(word, allowed...)
	*to = T(i)
	return err
}

// BusType is a value of STORAGE_BUS_TYPE.
type BusType uint32

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (b *BusType) UnmarshalYAML(decode func(any) error) error {
	return DecodeWord(b, decode, []string{
		win32.BusTypeScsi: "scsi", win32.BusTypeAta: "ata", win32.BusTypeFibre: "fibre", win32.BusTypeUsb: "usb",
		win32.BusTypeRAID: "raid", win32.BusTypeiScsi: "iscsi", win32.BusTypeSas: "sas", win32.BusTypeSata: "sata",
		win32.BusTypeVirtual: "virtual", win32.BusTypeFileBackedVirtual: "filebackedvirtual",
		win32.BusTypeSpaces: "spaces", win32.BusTypeNvme: "nvme",
	}...)
}

// Formatted is the content of a new disk: raw or formatted.
type Formatted bool

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (f *Formatted) UnmarshalYAML(decode func(any) error) error {
	var i uint8
	err := DecodeWord(&i, decode, "raw", "formatted")
	*f = i == 1
	return err
}

// FileSystem is what the volume of a formatted disk has: ntfs or exfat.
type FileSystem uint8

// The file systems.
const (
	FileSystemNTFS FileSystem = iota
	FileSystemExFAT
)

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (f *FileSystem) UnmarshalYAML(decode func(any) error) error {
	return DecodeWord(f, decode, "NTFS", "exFAT")
}

// Table is the partition table of a disk that is made with partitions: gpt or mbr.
type Table uint8

// The partition tables.
const (
	tableGPT Table = iota
	TableMBR
)

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (t *Table) UnmarshalYAML(decode func(any) error) error {
	return DecodeWord(t, decode, "gpt", "mbr")
}

// Identifiers are the device identifiers of a disk (SCSI VPD page 83h), in the order in which it reports them.
type Identifiers []win32.StorageIdentifier

// Identifier is an identifier in a file, with its bytes in one of three forms.
type Identifier struct {
	// `vendor`, `t10`, `eui64`, `naa`, `port`, `portGroup`, `lunGroup`, `md5`, `name`; required
	Type        string `yaml:"type"`
	Association string `yaml:"association"` // `device`, the default, `port`, `target`
	ASCII       string `yaml:"ascii"`       // the value
	UTF8        string `yaml:"utf8"`        // the value instead
	Hex         string `yaml:"hex"`         // the value instead, with the code set binary
}

// UnmarshalYAML implements strictyaml.Unmarshaler.
func (ids *Identifiers) UnmarshalYAML(decode func(any) error) error {
	var file []Identifier
	if err := decode(&file); err != nil {
		return err
	}
	*ids = make(Identifiers, len(file))
	for i, one := range file {
		if err := one.read(&(*ids)[i]); err != nil {
			return strictyaml.At(err, i)
		}
	}
	return nil
}

func (f *Identifier) read(id *win32.StorageIdentifier) (err error) {
	// StorageIdTypeVendorSpecific, StorageIdAssocDevice and so on, from 0
	kind, err := wordIndex(f.Type, "vendor", "t10", "eui64", "naa", "port", "portGroup", "lunGroup", "md5", "name")
	if err != nil {
		return strictyaml.At(err, "type")
	}
	association, err := wordIndex(cmp.Or(f.Association, "device"), "device", "port", "target")
	if err != nil {
		return strictyaml.At(err, "association")
	}
	id.Type, id.Association = uint32(kind), uint32(association) // indices
	switch given := f.ASCII + f.UTF8 + f.Hex; {
	case given != "" && given == f.ASCII:
		id.CodeSet, id.Identifier = win32.StorageIdCodeSetAscii, []byte(given)
		if strings.ContainsFunc(given, func(r rune) bool { return r > '~' }) {
			return errors.New("ascii is not ASCII; use utf8")
		}
	case given != "" && given == f.UTF8:
		id.CodeSet, id.Identifier = win32.StorageIdCodeSetUtf8, []byte(given)
	case given != "" && given == f.Hex:
		id.CodeSet = win32.StorageIdCodeSetBinary
		if id.Identifier, err = hex.DecodeString(given); err != nil {
			return errors.New("hex must be pairs of hexadecimal digits")
		}
	default:
		return errors.New("an identifier needs exactly one of ascii, utf8 and hex")
	}
	return nil
}

// MaxSize is the limit of NTFS with clusters of 4 KiB.
const MaxSize = 16 << 40

// Find returns a pointer to the first element that fits, or nil.
func Find[T any](list []T, fits func(*T) bool) *T {
	for i := range list {
		if fits(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
