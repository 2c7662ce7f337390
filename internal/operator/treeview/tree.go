// SPDX-License-Identifier: Apache-2.0

// Package treeview shows the storage of a node to people: disks, their partitions, the volumes on them and their mount
// points. The facts come from an agent's admin endpoint or, with less detail, from the storage API alone.
package treeview

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Tree is the storage of a node. The names of its fields are those of csi-proxyctl's JSON and YAML.
type Tree struct {
	Disks []Disk `json:"disks"` // by number; nil: not known
	// Missing lists what is not in the tree because the agent does not show it, and why, one sentence each.
	Missing []string `json:"missing"`
	// Unknown lists what Windows did not answer, and why, one sentence each.
	Unknown []string `json:"unknown"`
	// Unanswered reports whether Windows gave no answer in time to some of it; else asking failed at once.
	Unanswered bool `json:"-"`
	// Silent are the objects that gave no answer about which disks and volumes there are: "the list of disks".
	Silent []string `json:"-"`
	// Unnumbered are the disks that do not tell their numbers.
	Unnumbered []Disk `json:"-"`
	// NoAdmin is why the tree comes from the storage API alone, nil if it does not.
	NoAdmin error `json:"-"`
}

// Volumes returns the partitions that have a volume, with their disks. A nil tree has none.
func (t *Tree) Volumes() iter.Seq2[Disk, Partition] {
	return func(yield func(Disk, Partition) bool) {
		if t == nil {
			return
		}
		for _, d := range t.Disks {
			for _, p := range d.Volumes() {
				if !yield(d, p) {
					return
				}
			}
		}
	}
}

// Disk is one disk. An unknown value is a nil pointer, an empty text or a size of 0.
type Disk struct {
	Unknown    string `json:"unknown,omitempty"` // why what is empty below is not known
	Unanswered bool   `json:"-"`                 // Windows gave no answer in time
	// Content is what an online disk without a data partition holds, if that was asked for: "an ext4 file system".
	Content   string `json:"-"`
	Number    uint32 `json:"diskNumber"`
	SizeBytes int64  `json:"sizeBytes"`
	Style     string `json:"style"` // RAW, GPT or MBR
	Online    *bool  `json:"online"`
	ReadOnly  *bool  `json:"readOnly"`
	System    *bool  `json:"system"` // Windows runs from it
	BusType   string `json:"busType"`
	Adapter   string `json:"adapter"` // the SCSI address, in decimal
	Bus       string `json:"bus"`
	Target    string `json:"target"`
	LUN       string `json:"lun"`
	// TakenVolumes are the ids of the volumes of an offline disk; nil: the agent did not take it offline.
	TakenVolumes []string `json:"-"`
	SerialNumber string   `json:"serialNumber"`
	Page83       string   `json:"page83"`
	// Partitions are sorted by number. If only volumes are known, each has a partition with the number 0.
	Partitions []Partition `json:"partitions"`
}

// Partition is one partition of a Disk.
type Partition struct {
	Number      uint32 `json:"partitionNumber"`
	OffsetBytes int64  `json:"offsetBytes"`
	SizeBytes   int64  `json:"sizeBytes"`
	Kind        string `json:"kind"` // "basic data", "EFI system"
	// Attributes are those of a GPT partition with basic data: "hidden", "read-only", "no drive letter".
	Attributes []string `json:"attributes"`
	Unknown    string   `json:"unknown,omitempty"` // why it is not known which volume is on it
	GetsVolume bool     `json:"-"`                 // Windows makes a volume of it
	Volume     *Volume  `json:"volume"`
}

// Volume is the volume on a Partition.
type Volume struct {
	Unknown     string   `json:"unknown,omitempty"` // why what is empty below is not known
	Unanswered  bool     `json:"-"`                 // Windows gave no answer in time
	ID          string   `json:"volumeId"`
	FileSystem  string   `json:"fileSystem"` // "NTFS"
	Formatted   bool     `json:"formatted"`  // Windows knows a file system on it
	TotalBytes  int64    `json:"totalBytes"` // of the file system
	UsedBytes   int64    `json:"usedBytes"`
	MountPoints []string `json:"mountPoints"`          // nil: not known
	DiskNumber  *uint32  `json:"diskNumber,omitempty"` // in a list of volumes
}

// MarshalJSON implements json.Marshaler: what is not known is null.
func (d Disk) MarshalJSON() ([]byte, error) {
	type plain Disk
	return withNulls(plain(d), d.Unknown)
}

// MarshalJSON implements json.Marshaler: what is not known is null.
func (v Volume) MarshalJSON() ([]byte, error) {
	type plain Volume
	return withNulls(plain(v), v.Unknown)
}

// withNulls encodes an object. If something is unknown, the empty fields are null, but for the disk's number.
func withNulls(object any, unknown string) ([]byte, error) {
	text, err := json.Marshal(object)
	if unknown == "" || err != nil {
		return text, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if name != "diskNumber" && slices.Contains([]string{`""`, "0", "false", "[]"}, string(value)) {
			fields[name] = json.RawMessage("null")
		}
	}
	return json.Marshal(fields)
}

// Unusual returns the attributes that the agent's own partitions do not have.
func (p Partition) Unusual() []string {
	return slices.DeleteFunc(slices.Clone(p.Attributes), func(a string) bool { return a == "no drive letter" })
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
	if d.Unknown != "" {
		return unknown + ": " + d.Unknown
	}
	return joined(", ", "", d.Size(), "", strings.Trim(d.State(), "-"), "", d.Style, "", d.BusType, "LUN ", d.LUN,
		"serial ", d.SerialNumber, "page 83 ", d.Page83)
}

// Size returns the size of the disk, or a dash if it is not known.
func (d Disk) Size() string {
	if d.SizeBytes == 0 {
		return "-"
	}
	return Size(d.SizeBytes)
}

// joined joins pairs of a name and a value, except those without a value.
func joined(separator string, pairs ...string) string {
	var parts []string
	for i := 1; i < len(pairs); i += 2 {
		if pairs[i] != "" {
			parts = append(parts, pairs[i-1]+pairs[i])
		}
	}
	return strings.Join(parts, separator)
}

// unknown stands for what Windows did not answer.
const unknown = "unknown"

// State says whether the disk is online, read-only or the system's. It is "-" if the agent does not show that, and
// "unknown" if Windows did not answer.
func (d Disk) State() string {
	if d.Unknown != "" && d.Online == nil {
		return unknown
	}
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
	case !v.Formatted && v.Unknown != "":
		return unknown
	case !v.Formatted:
		return "no file system"
	case v.FileSystem == "":
		return "formatted"
	}
	return v.FileSystem
}

// is reports whether a value is known and true.
func is(b *bool) bool { return b != nil && *b }

// IsOnline reports whether the disk is known to be online.
func (d Disk) IsOnline() bool { return is(d.Online) }

// IsReadOnly reports whether the disk is known to refuse writes.
func (d Disk) IsReadOnly() bool { return is(d.ReadOnly) }

// IsOffline reports whether the disk is known to be offline.
func (d Disk) IsOffline() bool { return d.Online != nil && !*d.Online }

// IsSystem reports whether Windows is known to run from the disk.
func (d Disk) IsSystem() bool { return is(d.System) }

// Size writes a number of bytes for people: three digits at least, one after the point at most, in the largest unit
// that leaves a whole part: "64 GiB", "63.9 GiB", "1023 MiB". It rounds down, so that nothing looks larger than it is.
func Size(bytes int64) string {
	if bytes < 0 {
		return "-" + Size(-max(bytes, -1<<62))
	}
	shift := 0
	for shift < 60 && bytes>>shift >= 1024 {
		shift += 10
	}
	if shift == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	unit, n, tenths := "KMGTPE"[shift/10-1], bytes>>shift, bytes>>(shift-10)&1023*10/1024
	if tenths == 0 || n >= 1000 {
		return fmt.Sprintf("%d %ciB", n, unit)
	}
	return fmt.Sprintf("%d.%d %ciB", n, tenths, unit)
}

func (t *Tree) addUnknown(why string, unanswered bool) {
	t.Unanswered = t.Unanswered || unanswered
	if why != "" && !slices.Contains(t.Unknown, why) {
		t.Unknown = append(t.Unknown, why)
	}
}
