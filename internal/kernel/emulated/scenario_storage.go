// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// busType is a value of STORAGE_BUS_TYPE and its name.
type busType struct {
	name  string
	value uint32
}

// busTypes are those that a disk may have.
func busTypes() []busType {
	return []busType{
		{"scsi", win32.BusTypeScsi}, {"ata", win32.BusTypeAta}, {"fibre", win32.BusTypeFibre}, {"usb", win32.BusTypeUsb},
		{"raid", win32.BusTypeRAID}, {"iscsi", win32.BusTypeiScsi}, {"sas", win32.BusTypeSas}, {"sata", win32.BusTypeSata},
		{"virtual", win32.BusTypeVirtual}, {"filebackedvirtual", win32.BusTypeFileBackedVirtual},
		{"spaces", win32.BusTypeSpaces}, {"nvme", win32.BusTypeNvme},
	}
}

// BusType gives the value of STORAGE_BUS_TYPE by its name, in any case and without the prefix BusType.
func BusType(name string) (uint32, bool) {
	all := busTypes()
	i := slices.IndexFunc(all, func(b busType) bool { return strings.EqualFold(b.name, name) })
	if i < 0 {
		return 0, false
	}
	return all[i].value, true
}

// hardwareKeys are what all disks have.
func hardwareKeys() []key[DiskSpec] {
	var buses []string
	for _, b := range busTypes() {
		buses = append(buses, b.name)
	}
	address := func(name, about string, set func(*DiskSpec, uint8)) key[DiskSpec] {
		return numberKey(name, about, 0, 255, func(d *DiskSpec, n uint64) { set(d, uint8(n)) })
	}
	return []key[DiskSpec]{
		sizeKey("Size, whole sectors from 4 MiB to 16 TiB.", func(d *DiskSpec) *int64 { return &d.SizeBytes }),
		textKey("serial", "Serial number, printable ASCII.", func(d *DiskSpec) *string { return &d.SerialNumber }),
		identifiersKey(func(d *DiskSpec) *[]win32.StorageIdentifier { return &d.Identifiers }),
		choiceKey("busType", "Bus type; left out: scsi.", buses, func(d *DiskSpec, i int) { d.BusType = busTypes()[i].value }),
		address("adapter", "Adapter (port). iSCSI disks have adapter 2.", func(d *DiskSpec, n uint8) { d.Adapter = n }),
		address("bus", "Bus (path).", func(d *DiskSpec, n uint8) { d.Bus = n }),
		address("target", "Target.", func(d *DiskSpec, n uint8) { d.Target = n }),
		address("lun", "LUN; left out: the lowest that is free there.", func(d *DiskSpec, n uint8) { d.LUN, d.LUNAuto = n, false }),
		eitherKey("sectorSize", "Bytes of a logical sector; left out: 512.", 512, 4096, func(d *DiskSpec, n uint64) { d.SectorSize = uint32(n) }),
	}
}

func systemDiskKeys() mapping[DiskSpec] {
	return mapping[DiskSpec]{title: "systemDisk", keys: hardwareKeys()}
}

func diskKeys() mapping[DiskSpec] {
	keys := hardwareKeys()
	keys[0] = required(keys[0])
	for i := range keys {
		keys[i].inside = nil // systemDisk has described the identifiers
	}
	contents := []string{"raw", "formatted"}
	return mapping[DiskSpec]{title: "disks[]", start: DiskSpec{LUNAuto: true}, keys: append(keys,
		boolKey("offline", "It arrives offline.", func(d *DiskSpec, b bool) { d.Offline = b }),
		boolKey("readOnly", "It is read-only.", func(d *DiskSpec, b bool) { d.ReadOnly = b }),
		choiceKey("content", "Blank, or a GPT with one NTFS volume, for which it needs 64 MiB; left out: raw.", contents,
			func(d *DiskSpec, i int) { d.Formatted = contents[i] == "formatted" }),
	)}
}

// checkDisks refuses what a node could not be made of.
func (s Scenario) checkDisks() error {
	var made []diskState
	for _, spec := range append([]DiskSpec{s.SystemDisk}, s.Disks...) {
		record, err := spec.record(made)
		if err != nil {
			return err
		}
		made = append(made, record)
	}
	return nil
}

func identifiersKey[T any](at func(*T) *[]win32.StorageIdentifier) key[T] {
	return listKey("identifiers", "Device identifiers (SCSI VPD page 83h), in the order in which the disk reports them.", identifierKeys(), at, nil)
}

func identifierKeys() mapping[win32.StorageIdentifier] {
	types := []string{"vendor", "t10", "eui64", "naa", "port", "portGroup", "lunGroup", "md5", "name"} // StorageIdTypeVendorSpecific and so on, from 0
	associations := []string{"device", "port", "target"}                                               // StorageIdAssocDevice and so on, from 0
	content := func(name, about string, codeSet uint32, decode func(string) ([]byte, error)) key[win32.StorageIdentifier] {
		return key[win32.StorageIdentifier]{name: name, form: "text", about: about, read: func(id *win32.StorageIdentifier, v value) error {
			if id.Identifier != nil {
				return v.errorf("is one too many: an identifier has one of ascii, utf8 and hex")
			}
			text, err := v.text()
			if err != nil {
				return err
			}
			id.CodeSet = codeSet
			id.Identifier, err = decode(text)
			return v.wrap(err)
		}}
	}
	return mapping[win32.StorageIdentifier]{
		title: "identifiers[], of disks and logical units",
		check: func(id win32.StorageIdentifier) error {
			if len(id.Identifier) == 0 || len(id.Identifier) > 255 {
				return errors.New("an identifier has 1 to 255 bytes, given as ascii, utf8 or hex")
			}
			return nil
		},
		keys: []key[win32.StorageIdentifier]{
			required(choiceKey("type", "Kind of the identifier.", types, func(id *win32.StorageIdentifier, i int) { id.Type = uint32(i) })), // an index
			choiceKey("association", "What it belongs to; left out: device.", associations, func(id *win32.StorageIdentifier, i int) { id.Association = uint32(i) }),
			content("ascii", "The identifier as ASCII, with the code set ASCII.", win32.StorageIdCodeSetAscii, asciiBytes),
			content("utf8", "The identifier as UTF-8.", win32.StorageIdCodeSetUtf8, func(s string) ([]byte, error) { return []byte(s), nil }),
			content("hex", "The identifier in hexadecimal digits, with the code set binary.", win32.StorageIdCodeSetBinary, func(s string) ([]byte, error) {
				if b, err := hex.DecodeString(s); err == nil {
					return b, nil
				}
				return nil, errors.New("pairs of hexadecimal digits are wanted")
			}),
		},
	}
}

func asciiBytes(text string) ([]byte, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return nil, errors.New("ASCII is wanted")
	}
	return []byte(text), nil
}

func portalKeys() mapping[ISCSIPortalSpec] {
	return mapping[ISCSIPortalSpec]{title: "iscsiPortals[]", start: ISCSIPortalSpec{Port: 3260}, keys: []key[ISCSIPortalSpec]{
		required(textKey("address", "IP address or DNS name.", func(p *ISCSIPortalSpec) *string { return &p.Address })),
		numberKey("port", "TCP port; left out: 3260.", 1, 65535, func(p *ISCSIPortalSpec, n uint64) { p.Port = uint16(n) }),
		listKey("targets", "Targets that it has.", targetKeys(), func(p *ISCSIPortalSpec) *[]ISCSITargetSpec { return &p.Targets }, checkTargets),
	}}
}

func targetKeys() mapping[ISCSITargetSpec] {
	return mapping[ISCSITargetSpec]{title: "iscsiPortals[].targets[]", check: checkTarget, keys: []key[ISCSITargetSpec]{
		required(textKey("name", "Qualified name, in lower case.", func(t *ISCSITargetSpec) *string { return &t.Name })),
		textKey("username", "User of CHAP; left out: no authentication.", func(t *ISCSITargetSpec) *string { return &t.Username }),
		textKey("secret", "Secret of CHAP, 12 to 16 bytes.", func(t *ISCSITargetSpec) *string { return &t.Secret }),
		textKey("mutualSecret", "Secret by which the target proves itself; left out: it cannot.", func(t *ISCSITargetSpec) *string { return &t.MutualSecret }),
		numberKey("pendingQueries", "How many queries for a new session's disks find them without a number.", 0, 1000,
			func(t *ISCSITargetSpec, n uint64) { t.PendingQueries = int(n) }), // at most 1000
		listKey("luns", "Logical units, blank at first.", lunKeys(), func(t *ISCSITargetSpec) *[]ISCSILUNSpec { return &t.LUNs }, checkLUNs),
	}}
}

func lunKeys() mapping[ISCSILUNSpec] {
	identifiers := identifiersKey(func(l *ISCSILUNSpec) *[]win32.StorageIdentifier { return &l.Identifiers })
	identifiers.inside = nil // systemDisk has described them
	return mapping[ISCSILUNSpec]{title: "iscsiPortals[].targets[].luns[]", keys: []key[ISCSILUNSpec]{
		numberKey("lun", "LUN; left out: 0.", 0, 255, func(l *ISCSILUNSpec, n uint64) { l.LUN = uint8(n) }),
		required(sizeKey("Size, whole sectors from 4 MiB to 16 TiB.", func(l *ISCSILUNSpec) *int64 { return &l.SizeBytes })),
		textKey("serial", "Serial number, printable ASCII.", func(l *ISCSILUNSpec) *string { return &l.SerialNumber }),
		identifiers,
	}}
}

// The checks of a storage system look at the element that came last: those ahead of it passed.

func checkLUNs(t ISCSITargetSpec) error {
	last := t.LUNs[len(t.LUNs)-1]
	if slices.ContainsFunc(t.LUNs[:len(t.LUNs)-1], func(l ISCSILUNSpec) bool { return l.LUN == last.LUN }) {
		return fmt.Errorf("LUN %d is there twice", last.LUN)
	}
	_, err := DiskSpec{SizeBytes: last.SizeBytes, SerialNumber: last.SerialNumber, Identifiers: last.Identifiers}.record(nil)
	return err
}

func checkTarget(t ISCSITargetSpec) error {
	short := func(secret string) bool { return len(secret) < minCHAPSecret || len(secret) > maxCHAPSecret }
	switch {
	case t.Name == "" || strings.ToLower(t.Name) != t.Name || strings.ContainsAny(t.Name, " \t"):
		return fmt.Errorf("the name %q is not in lower case without blanks", t.Name)
	case (t.Username == "") != (t.Secret == ""):
		return errors.New("username and secret go together")
	case t.Secret == "" && t.MutualSecret != "":
		return errors.New("a mutual secret needs a secret")
	case t.Secret != "" && short(t.Secret) || t.MutualSecret != "" && short(t.MutualSecret):
		return fmt.Errorf("secrets have %d to %d bytes", minCHAPSecret, maxCHAPSecret)
	}
	return nil
}

func checkTargets(p ISCSIPortalSpec) error {
	last := len(p.Targets) - 1
	if slices.ContainsFunc(p.Targets[:last], func(t ISCSITargetSpec) bool { return t.Name == p.Targets[last].Name }) {
		return fmt.Errorf("target %s is there twice", p.Targets[last].Name)
	}
	return nil
}

func checkPortals(s Scenario) error {
	last := len(s.ISCSI) - 1
	name := portalName{s.ISCSI[last].Address, s.ISCSI[last].Port}
	if name.Address == "" || strings.ContainsAny(name.Address, " \t") {
		return fmt.Errorf("%q is no address", name.Address)
	}
	if slices.ContainsFunc(s.ISCSI[:last], func(p ISCSIPortalSpec) bool { return name.same(portalName{p.Address, p.Port}) }) {
		return fmt.Errorf("portal %s port %d is there twice", name.Address, name.Port)
	}
	return nil
}
