// SPDX-License-Identifier: Apache-2.0

package treeview

// Tree is the storage of a node. The names of its fields are those of csi-proxyctl's JSON and YAML.
type Tree struct {
	Disks []Disk `json:"disks"` // by number
	// Missing lists what is not in the tree, and why, one sentence each.
	Missing []string `json:"missing"`
}

// Disk is one disk. An unknown value is a nil pointer, an empty text or a size of 0.
type Disk struct {
	Number       uint32 `json:"number"`
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
	Number      uint32  `json:"number"`
	OffsetBytes int64   `json:"offsetBytes"`
	SizeBytes   int64   `json:"sizeBytes"`
	Kind        string  `json:"kind"` // "basic data", "EFI system"
	Volume      *Volume `json:"volume"`
}

// Volume is the volume on a Partition.
type Volume struct {
	ID          string   `json:"id"`
	FileSystem  string   `json:"fileSystem"` // "NTFS"
	Formatted   bool     `json:"formatted"`  // Windows knows a file system on it
	TotalBytes  int64    `json:"totalBytes"` // of the file system
	UsedBytes   int64    `json:"usedBytes"`
	MountPoints []string `json:"mountPoints"` // nil: not known
}

// is reports whether a value is known and true.
func is(b *bool) bool { return b != nil && *b }
