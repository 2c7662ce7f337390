// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// The types of values that a scenario file writes differently from Go.

// Size is a number of bytes, in a file a number or a text with a unit.
type Size int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	text := n.Value
	if n.ShortTag() == "!!int" {
		text += "B"
	}
	bytes, ok := parseSize(text)
	if !ok {
		return wrong(n, "size is %q; it must be bytes, or a text such as 10GiB, at most 16TiB", n.Value)
	}
	*s = Size(bytes)
	return nil
}

// parseSize parses a decimal number with a binary unit, with or without its B: 1.5GiB, 512 Mi, 4096B. The result must
// be whole bytes, from 1 to maxDiskBytes.
func parseSize(text string) (int64, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end <= 0 || end > 20 || text[0] == '.' {
		return 0, false
	}
	shift, ok := map[string]uint{"B": 0, "KiB": 10, "Ki": 10, "MiB": 20, "Mi": 20, "GiB": 30, "Gi": 30, "TiB": 40,
		"Ti": 40}[strings.TrimPrefix(text[end:], " ")]
	if !ok {
		return 0, false
	}
	bytes, ok := new(big.Rat).SetString(text[:end])
	if !ok {
		return 0, false
	}
	bytes.Mul(bytes, new(big.Rat).SetInt64(1<<shift))
	if !bytes.IsInt() || bytes.Sign() <= 0 || bytes.Cmp(new(big.Rat).SetInt64(maxDiskBytes)) > 0 {
		return 0, false
	}
	return bytes.Num().Int64(), true
}

// wordOf returns the index of a word, in any case, among the allowed ones.
func wordOf(n *yaml.Node, what, word string, allowed []string) (int, error) {
	i := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, word) })
	if i < 0 {
		return 0, wrong(n, "%s is %q; it must be one of %s", what, word, strings.Join(allowed, ", "))
	}
	return i, nil
}

// BusType is a value of STORAGE_BUS_TYPE.
type BusType uint32

// busTypes returns the bus types that a disk may have, with their names in files.
func busTypes() (names []string, values []BusType) {
	for _, b := range []struct {
		name  string
		value BusType
	}{
		{"scsi", win32.BusTypeScsi}, {"ata", win32.BusTypeAta}, {"fibre", win32.BusTypeFibre}, {"usb", win32.BusTypeUsb},
		{"raid", win32.BusTypeRAID}, {"iscsi", win32.BusTypeiScsi}, {"sas", win32.BusTypeSas}, {"sata", win32.BusTypeSata},
		{"virtual", win32.BusTypeVirtual}, {"filebackedvirtual", win32.BusTypeFileBackedVirtual},
		{"spaces", win32.BusTypeSpaces}, {"nvme", win32.BusTypeNvme},
	} {
		names, values = append(names, b.name), append(values, b.value)
	}
	return names, values
}

// Parse sets the bus type from a name, in any case and without the prefix BusType.
func (b *BusType) Parse(name string) error { return b.UnmarshalYAML(&yaml.Node{Value: name}) }

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *BusType) UnmarshalYAML(n *yaml.Node) error {
	names, values := busTypes()
	i, err := wordOf(n, "busType", n.Value, names)
	*b = values[i]
	return err
}

// Formatted is the content of a new disk: raw or formatted.
type Formatted bool

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *Formatted) UnmarshalYAML(n *yaml.Node) error {
	i, err := wordOf(n, "content", n.Value, []string{"raw", "formatted"})
	*f = i == 1
	return err
}

// Table is the partition table of a disk that is made with partitions: gpt or mbr.
type Table uint8

const (
	tableGPT Table = iota
	tableMBR
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Table) UnmarshalYAML(n *yaml.Node) error {
	i, err := wordOf(n, "table", n.Value, []string{"gpt", "mbr"})
	*t = Table(max(i, 0)) // an index
	return err
}

// serviceFile is a service in a file, where the start type is a name.
type serviceFile struct {
	Rest  plainService `yaml:",inline"`
	Start startType    `yaml:"start"`
}

type (
	plainService ServiceSpec
	startType    uint32
)

// UnmarshalYAML implements the old form of yaml.Unmarshaler, with which the decoder still refuses unknown keys.
func (s *ServiceSpec) UnmarshalYAML(unmarshal func(any) error) error {
	file := serviceFile{Start: startType(win32.SERVICE_AUTO_START)}
	err := unmarshal(&file)
	*s = ServiceSpec(file.Rest)
	s.StartType = uint32(file.Start)
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *startType) UnmarshalYAML(n *yaml.Node) error {
	names := []string{"boot", "system", "automatic", "manual", "disabled"} // SERVICE_BOOT_START and so on, from 0
	i, err := wordOf(n, "start", n.Value, names)
	*s = startType(i) // an index
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (m *MSRArrival) UnmarshalYAML(n *yaml.Node) error {
	words := []string{string(MSRImmediate), string(MSRDelayed), string(MSRLate), string(MSRNever)}
	i, err := wordOf(n, "msr", n.Value, words)
	*m = MSRArrival(words[i])
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (g *Growth) UnmarshalYAML(n *yaml.Node) error {
	words := []string{string(GrowthImmediate), string(GrowthDelayed), string(GrowthNever)}
	i, err := wordOf(n, "growPartition", n.Value, words)
	*g = Growth(words[i])
	return err
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *LinksRefused) UnmarshalYAML(n *yaml.Node) error {
	words := []string{string(LinksRefusedOnTheWay), string(LinksRefusedEverywhere), string(LinksRefusedNever)}
	i, err := wordOf(n, "linksRefused", n.Value, words)
	if err == nil {
		*l = LinksRefused(words[i])
	}
	return err
}

// Identifiers are the device identifiers of a disk (SCSI VPD page 83h), in the order in which it reports them.
type Identifiers []win32.StorageIdentifier

// identifierFile is an identifier in a file, with its bytes in one of three forms.
type identifierFile struct {
	Type        string `yaml:"type"`
	Association string `yaml:"association"`
	ASCII       string `yaml:"ascii"`
	UTF8        string `yaml:"utf8"`
	Hex         string `yaml:"hex"`
}

// UnmarshalYAML is like that of ServiceSpec.
func (ids *Identifiers) UnmarshalYAML(unmarshal func(any) error) error {
	var file []identifierFile
	if err := unmarshal(&file); err != nil {
		return err
	}
	var nodes []yaml.Node
	if err := unmarshal(&nodes); err != nil {
		return err
	}
	*ids = make(Identifiers, len(file))
	for i, one := range file {
		if err := one.read(&nodes[i], &(*ids)[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *identifierFile) read(n *yaml.Node, id *win32.StorageIdentifier) error {
	// StorageIdTypeVendorSpecific, StorageIdAssocDevice and so on, from 0
	kind, err := wordOf(n, "the type of an identifier", f.Type,
		[]string{"vendor", "t10", "eui64", "naa", "port", "portGroup", "lunGroup", "md5", "name"})
	if err != nil {
		return err
	}
	association, err := wordOf(n, "the association of an identifier", cmp.Or(f.Association, "device"),
		[]string{"device", "port", "target"})
	if err != nil {
		return err
	}
	id.Type, id.Association = uint32(kind), uint32(association) // indices
	given := 0
	for _, form := range []struct {
		text    string
		codeSet uint32
	}{{f.ASCII, win32.StorageIdCodeSetAscii}, {f.UTF8, win32.StorageIdCodeSetUtf8},
		{f.Hex, win32.StorageIdCodeSetBinary}} {
		if form.text != "" {
			id.CodeSet, id.Identifier = form.codeSet, []byte(form.text)
			given++
		}
	}
	if given != 1 {
		return wrong(n, "an identifier needs exactly one of ascii, utf8 and hex")
	}
	switch id.CodeSet {
	case win32.StorageIdCodeSetAscii:
		if strings.ContainsFunc(f.ASCII, func(r rune) bool { return r > '~' }) {
			return wrong(n, "ascii is not ASCII; use utf8")
		}
	case win32.StorageIdCodeSetBinary:
		if id.Identifier, err = hex.DecodeString(f.Hex); err != nil {
			return wrong(n, "hex must be pairs of hexadecimal digits")
		}
	}
	return nil
}
