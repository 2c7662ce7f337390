// SPDX-License-Identifier: Apache-2.0

package treeview

import "strings"

// Tree is the storage of a node. The names of its fields are those of csi-proxyctl's JSON and YAML.
type Tree struct {
	Disks []Disk `json:"disks"` // by number
	// Missing lists what is not in the tree, and why, one sentence each.
	Missing []string `json:"missing"`
}

// Disk is one disk. An unknown value is a nil pointer, an empty text or a size of 0.
type Disk struct {
	Number       uint32 `json:"diskNumber"`
	SizeBytes    int64  `json:"sizeBytes"`
	Style        string `json:"style"` // RAW, GPT or MBR
	Online       *bool  `json:"online"`
	ReadOnly     *bool  `json:"readOnly"`
	System       *bool  `json:"system"` // Windows runs from it
	BusType      string `json:"busType"`
	Adapter      string `json:"adapter"` // the SCSI address, in decimal
	Bus          string `json:"bus"`
	Target       string `json:"target"`
	LUN          string `json:"lun"`
	SerialNumber string `json:"serialNumber"`
	Page83       string `json:"page83"`
	// Partitions are sorted by number. If only volumes are known, each has a partition with the number 0.
	Partitions []Partition `json:"partitions"`
}

// Partition is one partition of a Disk.
type Partition struct {
	Number      uint32  `json:"partitionNumber"`
	OffsetBytes int64   `json:"offsetBytes"`
	SizeBytes   int64   `json:"sizeBytes"`
	Kind        string  `json:"kind"` // "basic data", "EFI system"
	Volume      *Volume `json:"volume"`
}

// Volume is the volume on a Partition.
type Volume struct {
	ID          string   `json:"volumeId"`
	FileSystem  string   `json:"fileSystem"` // "NTFS"
	Formatted   bool     `json:"formatted"`  // Windows knows a file system on it
	TotalBytes  int64    `json:"totalBytes"` // of the file system
	UsedBytes   int64    `json:"usedBytes"`
	MountPoints []string `json:"mountPoints"` // nil: not known
}

// Volumes returns the partitions of the disk that have a volume.
func (d Disk) Volumes() (list []Partition) {
	for _, p := range d.Partitions {
		if p.Volume != nil {
			list = append(list, p)
		}
	}
	return list
}

// String describes the disk in the terms by which people recognise it, but for its number.
func (d Disk) String() string {
	parts := []string{diskSize(d)}
	for _, part := range []struct{ name, value string }{{"", d.State()}, {"", d.Style}, {"", d.BusType}, {"LUN ", d.LUN},
		{"serial ", d.SerialNumber}, {"page 83 ", d.Page83}} {
		if part.value != "" && part.value != "-" {
			parts = append(parts, part.name+part.value)
		}
	}
	return strings.Join(parts, ", ")
}

// State says whether the disk is online, "-" if that is not known, read-only or the system's.
func (d Disk) State() string {
	state := "-"
	if d.Online != nil {
		state = map[bool]string{true: "online", false: "offline"}[*d.Online]
	}
	if is(d.ReadOnly) {
		state += ", read-only"
	}
	if is(d.System) {
		state += ", system"
	}
	return state
}

// Format says which file system the volume has, as far as that is known.
func (v *Volume) Format() string {
	switch {
	case !v.Formatted:
		return "no file system"
	case v.FileSystem == "":
		return "formatted"
	}
	return v.FileSystem
}

// is reports whether a value is known and true.
func is(b *bool) bool { return b != nil && *b }
