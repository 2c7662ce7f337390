// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func diskQuestions() []Question {
	return []Question{
		{3, "Which Version does IOCTL_DISK_SET_DISK_ATTRIBUTES take, and does the change show before " +
			"IOCTL_DISK_UPDATE_PROPERTIES?", askAttributesVersion},
		{4, "How does a new disk come up, and does IOCTL_DISK_CREATE_DISK bring an offline, read-only disk online and make " +
			"it writable?", askCreateDiskClears},
		{5, "How does IOCTL_DISK_GET_DRIVE_LAYOUT_EX describe a zeroed disk, a stale protective MBR and a damaged GPT?",
			askLayouts},
		{6, "Does IOCTL_DISK_CREATE_DISK make a Microsoft reserved partition, when and where, and can a layout without " +
			"one be set?", askReserved},
		{8, "Does a disk that was attached or grown show without CM_Reenumerate_DevNode?", askReenumerate},
		{12, "After a disk grew, which call refreshes UsableLength and moves the backup GPT?", askUsableLength},
		{37, "Does a disk know the queries for its identifiers, one by one and all at once?", askIdentifiers},
	}
}

// attributes are a disk's, in words.
type attributes struct {
	Offline, ReadOnly bool
}

func (q *inquiry) attributes(h kernel.Handle) attributes {
	q.Helper()
	a, err := query(h, win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, 16, win32.ParseGetDiskAttributes)
	q.check(err)
	return attributes{a.Attributes&win32.DISK_ATTRIBUTE_OFFLINE != 0, a.Attributes&win32.DISK_ATTRIBUTE_READ_ONLY != 0}
}

type attributesVersion struct {
	Version        uint32
	Call           string // its result
	ShowsAtOnce    bool
	ShowsAfterward bool // after IOCTL_DISK_UPDATE_PROPERTIES
}

func askAttributesVersion(q *inquiry) {
	var answers []attributesVersion
	for _, version := range []uint32{16, 40} {
		answers = append(answers, q.tryVersion(version))
		q.noted = answers
	}
}

// tryVersion flips the attribute OFFLINE of a new disk.
func (q *inquiry) tryVersion(version uint32) attributesVersion {
	h := q.openDisk(q.attach().Number())
	defer h.Close()
	before := q.attributes(h)
	request := win32.SetDiskAttributes{Version: version, AttributesMask: win32.DISK_ATTRIBUTE_OFFLINE}
	if !before.Offline {
		request.Attributes = win32.DISK_ATTRIBUTE_OFFLINE
	}
	answer := attributesVersion{Version: version}
	answer.Call = verdict(send(h, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes()))
	answer.ShowsAtOnce = q.attributes(h).Offline != before.Offline
	q.check(send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
	answer.ShowsAfterward = q.attributes(h).Offline != before.Offline
	return answer
}

type createDisk struct {
	New     attributes // as it came
	Call    string     // IOCTL_DISK_CREATE_DISK on it when offline and read-only
	Cleared attributes // what was left of both then
}

func askCreateDiskClears(q *inquiry) {
	answer := note(q, &createDisk{})
	h := q.openDisk(q.attach().Number())
	defer h.Close()
	answer.New = q.attributes(h)
	const both = win32.DISK_ATTRIBUTE_OFFLINE | win32.DISK_ATTRIBUTE_READ_ONLY
	q.check(setAttributes(h, both, both))
	answer.Call = verdict(createGPT(h))
	answer.Cleared = q.attributes(h)
}

// described is a layout in short.
type described struct {
	Style      string
	Signature  uint32
	Partitions int
}

func askLayouts(q *inquiry) {
	protective := make([]byte, 512)
	copy(protective[446:], []byte{0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF})
	protective[510], protective[511] = 0x55, 0xAA
	answers := note(q, map[string]any{})
	for name, prepare := range map[string]func(Disk){
		"zeroed":               func(Disk) {},
		"stale protective MBR": func(d Disk) { q.check(d.Write(0, protective)) },
		"damaged GPT": func(d Disk) {
			q.partition(d.Number(), noLetter)
			q.check(d.Write(512, bytes.Repeat([]byte{0xA5}, 512))) // its primary header
		},
	} {
		answers[name] = "not described"
		d := q.attach()
		prepare(d)
		answers[name] = q.describe(d.Number())
	}
}

// describe reads the layout of a disk.
func (q *inquiry) describe(disk uint32) any {
	h := q.openDisk(disk)
	defer h.Close()
	q.check(send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
	layout, err := layoutOf(h)
	if err != nil {
		return verdict(err) // the failure is the answer
	}
	style := map[win32.PartitionStyle]string{
		win32.PARTITION_STYLE_MBR: "MBR", win32.PARTITION_STYLE_GPT: "GPT", win32.PARTITION_STYLE_RAW: "RAW",
	}[layout.Style]
	return described{style, layout.Signature, len(layout.Partitions)}
}

type reserved struct {
	Comes          bool // by itself
	ReadsUntilThen int  // of the layout; 0: with CREATE_DISK
	After          string
	Offset, Length int64
	WithoutIt      string // the result of setting a layout without it
}

func askReserved(q *inquiry) {
	answer := note(q, &reserved{})
	h := q.openDisk(q.attach().Number())
	defer h.Close()
	q.check(createGPT(h))
	start, reads := time.Now(), 0
	comes, err := q.pollUntil(func() (bool, error) {
		layout, err := layoutOf(h)
		if err != nil || len(layout.Partitions) == 0 {
			reads++
			return false, err
		}
		answer.Offset, answer.Length = layout.Partitions[0].StartingOffset, layout.Partitions[0].Length
		return true, nil
	})
	q.check(err)
	if answer.Comes = comes; comes {
		answer.ReadsUntilThen, answer.After = reads, time.Since(start).Round(time.Millisecond).String()
	}
	layout := q.layout(h)
	layout.Partitions = nil
	answer.WithoutIt = verdict(send(h, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, layout.Bytes()))
}

func askReenumerate(q *inquiry) {
	answers := note(q, map[string]any{})
	d := q.attach()
	h, err := q.Subject.openDisk(d.Number())
	answers["attached, without"] = verdict(err)
	if err != nil {
		q.check(q.Kernel.ReenumerateDevices())
		h = q.openDisk(d.Number())
	}
	_ = h.Close()
	answers["grown"] = q.grow(d, 2*gib)
	size := func() int64 {
		h := q.openDisk(d.Number())
		defer h.Close()
		geometry, err := query(h, win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, 256, win32.ParseDiskGeometryEx)
		q.check(err)
		return geometry.DiskSize
	}
	answers["grown to 2 GiB, without"] = size()
	q.check(q.Kernel.ReenumerateDevices())
	answers["grown to 2 GiB, with"] = size()
}

type usableLength struct {
	How string // it grew: in place or pulled

	Before, Grown, SizeUpdated, PropertiesUpdated, PartitionGrown int64 // UsableLength after each step
	Grow                                                          string
	// whether it is at the disk's new end, after each step
	BackupHeader map[string]bool
}

func askUsableLength(q *inquiry) {
	answer := note(q, &usableLength{BackupHeader: map[string]bool{}})
	d := q.attach()
	p := q.partition(d.Number(), noLetter)
	ask := func(step string) int64 {
		h := q.openDisk(d.Number()) // reopened: growing may have pulled it
		defer h.Close()
		usable, last := q.layout(h).UsableLength, make([]byte, 512)
		if _, err := h.ReadAt(last, 2*gib-512); err == nil {
			answer.BackupHeader[step] = bytes.HasPrefix(last, []byte("EFI PART"))
		}
		return usable
	}
	do := func(call func(kernel.Handle) error) error {
		h := q.openDisk(d.Number())
		defer h.Close()
		return call(h)
	}
	answer.Before = ask("before")
	answer.How = q.grow(d, 2*gib)
	answer.Grown = ask("grown")
	q.check(do(updateDriveSize))
	answer.SizeUpdated = ask("size updated")
	q.check(do(func(h kernel.Handle) error { return send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil) }))
	answer.PropertiesUpdated = ask("properties updated")
	answer.Grow = verdict(do(func(h kernel.Handle) error { return growPartition(h, p) }))
	answer.PartitionGrown = ask("partition grown")
}

func askIdentifiers(q *inquiry) {
	h := q.openDisk(q.attach().Number())
	defer h.Close()
	answers := note(q, map[string]string{})
	for name, property := range map[string]uint32{
		"StorageDeviceIdProperty":       win32.StorageDeviceIdProperty,
		"StorageDeviceUniqueIdProperty": win32.StorageDeviceUniqueIdProperty,
	} {
		_, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: property}.Bytes(), make([]byte, 4096))
		answers[name] = verdict(err)
	}
}
