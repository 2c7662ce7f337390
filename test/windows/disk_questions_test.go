// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"fmt"
	"testing"
	"time"

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

func attributesOf(h interface {
	DeviceIoControl(code uint32, in, out []byte) (int, error)
},
) (attributes, error) {
	out := make([]byte, 16)
	n, err := h.DeviceIoControl(win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil, out)
	if err != nil {
		return attributes{}, err
	}
	a, err := win32.ParseGetDiskAttributes(out[:n])
	return attributes{a.Attributes&win32.DISK_ATTRIBUTE_OFFLINE != 0, a.Attributes&win32.DISK_ATTRIBUTE_READ_ONLY != 0},
		err
}

type attributesVersion struct {
	Version        uint32
	Call           string // its result
	ShowsAtOnce    bool
	ShowsAfterward bool // after IOCTL_DISK_UPDATE_PROPERTIES
}

func askAttributesVersion(t testing.TB, s Subject) (any, error) {
	var answers []attributesVersion
	for _, version := range []uint32{16, 40} {
		answer, err := tryVersion(t, s, version)
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// tryVersion flips the attribute OFFLINE of a new disk.
func tryVersion(t testing.TB, s Subject, version uint32) (attributesVersion, error) {
	answer := attributesVersion{Version: version}
	h, err := newDisk(t, s)
	if err != nil {
		return answer, err
	}
	defer h.Close()
	before, err := attributesOf(h)
	if err != nil {
		return answer, err
	}
	request := win32.SetDiskAttributes{Version: version, AttributesMask: win32.DISK_ATTRIBUTE_OFFLINE}
	if !before.Offline {
		request.Attributes = win32.DISK_ATTRIBUTE_OFFLINE
	}
	answer.Call = verdict(send(h, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes()))
	now, err := attributesOf(h)
	if err != nil {
		return answer, err
	}
	answer.ShowsAtOnce = now.Offline != before.Offline
	if err := send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil); err != nil {
		return answer, err
	}
	now, err = attributesOf(h)
	answer.ShowsAfterward = now.Offline != before.Offline
	return answer, err
}

type createDisk struct {
	New     attributes // as it came
	Call    string     // IOCTL_DISK_CREATE_DISK on it when offline and read-only
	Cleared attributes // what was left of both then
}

func askCreateDiskClears(t testing.TB, s Subject) (any, error) {
	h, err := newDisk(t, s)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var answer createDisk
	if answer.New, err = attributesOf(h); err != nil {
		return nil, err
	}
	const both = win32.DISK_ATTRIBUTE_OFFLINE | win32.DISK_ATTRIBUTE_READ_ONLY
	if err := setAttributes(h, both, both); err != nil {
		return answer, err
	}
	answer.Call = verdict(createGPT(h))
	answer.Cleared, err = attributesOf(h)
	return answer, err
}

// described is a layout in short.
type described struct {
	Style      string
	Signature  uint32
	Partitions int
}

func askLayouts(t testing.TB, s Subject) (any, error) {
	protective := make([]byte, 512)
	copy(protective[446:], []byte{0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF})
	protective[510], protective[511] = 0x55, 0xAA
	answers := map[string]any{}
	for name, prepare := range map[string]func(Disk) error{
		"zeroed":               func(Disk) error { return nil },
		"stale protective MBR": func(d Disk) error { return d.Write(0, protective) },
		"damaged GPT": func(d Disk) error {
			if _, err := partitioned(s, d); err != nil {
				return err
			}
			return d.Write(512, bytes.Repeat([]byte{0xA5}, 512)) // its primary header
		},
	} {
		answer, err := describe(t, s, prepare)
		if err != nil {
			return answers, fmt.Errorf("%s: %w", name, err)
		}
		answers[name] = answer
	}
	return answers, nil
}

// describe reads the layout of a disk that was prepared.
func describe(t testing.TB, s Subject, prepare func(Disk) error) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	if err := prepare(d); err != nil {
		return nil, err
	}
	h, err := openDisk(s, d)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if err := send(h, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil); err != nil {
		return nil, err
	}
	layout, err := layoutOf(h)
	if err != nil {
		return verdict(err), nil // the failure is the answer
	}
	style := map[win32.PartitionStyle]string{
		win32.PARTITION_STYLE_MBR: "MBR", win32.PARTITION_STYLE_GPT: "GPT", win32.PARTITION_STYLE_RAW: "RAW",
	}[layout.Style]
	return described{style, layout.Signature, len(layout.Partitions)}, nil
}

type reserved struct {
	Comes          bool // by itself
	ReadsUntilThen int  // of the layout; 0: with CREATE_DISK
	After          string
	Offset, Length int64
	WithoutIt      string // the result of setting a layout without it
}

func askReserved(t testing.TB, s Subject) (any, error) {
	h, err := newDisk(t, s)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if err := createGPT(h); err != nil {
		return nil, err
	}
	answer, start, reads := reserved{}, time.Now(), 0
	answer.Comes, err = s.pollUntil(func() (bool, error) {
		layout, err := layoutOf(h)
		if err != nil || len(layout.Partitions) == 0 {
			reads++
			return false, err
		}
		answer.Offset, answer.Length = layout.Partitions[0].StartingOffset, layout.Partitions[0].Length
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if answer.Comes {
		answer.ReadsUntilThen, answer.After = reads, time.Since(start).Round(time.Millisecond).String()
	}
	layout, err := layoutOf(h)
	if err != nil {
		return answer, err
	}
	layout.Partitions = nil
	answer.WithoutIt = verdict(send(h, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, layout.Bytes()))
	return answer, nil
}

func askReenumerate(t testing.TB, s Subject) (any, error) {
	answers := map[string]any{}
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return answers, err
	}
	h, err := openDisk(s, d)
	answers["attached, without"] = verdict(err)
	if err != nil {
		if err := s.Kernel.ReenumerateDevices(); err != nil {
			return answers, err
		}
		if h, err = openDisk(s, d); err != nil {
			return answers, err
		}
	}
	_ = h.Close()
	how, err := d.Grow(2 * gib)
	if err != nil {
		return answers, err
	}
	answers["grown"] = how
	size := func() (int64, error) {
		h, err := openDisk(s, d)
		if err != nil {
			return 0, err
		}
		defer h.Close()
		geometry, err := query(h, win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, 256, win32.ParseDiskGeometryEx)
		return geometry.DiskSize, err
	}
	if answers["grown to 2 GiB, without"], err = size(); err != nil {
		return answers, err
	}
	if err := s.Kernel.ReenumerateDevices(); err != nil {
		return answers, err
	}
	answers["grown to 2 GiB, with"], err = size()
	return answers, err
}

type usableLength struct {
	How string // it grew: in place or pulled

	Before, Grown, SizeUpdated, PropertiesUpdated, PartitionGrown int64 // UsableLength after each step
	Grow                                                          string
	// whether it is at the disk's new end, after each step
	BackupHeader map[string]bool
}

func askUsableLength(t testing.TB, s Subject) (any, error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return nil, err
	}
	p, err := partitioned(s, d)
	if err != nil {
		return nil, err
	}
	answer := usableLength{BackupHeader: map[string]bool{}}
	ask := func(step string, into *int64) error {
		h, err := openDisk(s, d) // reopened: growing may have pulled it
		if err != nil {
			return err
		}
		defer h.Close()
		layout, err := layoutOf(h)
		if err != nil {
			return err
		}
		*into = layout.UsableLength
		last := make([]byte, 512)
		if _, err := h.ReadAt(last, 2*gib-512); err == nil {
			answer.BackupHeader[step] = bytes.HasPrefix(last, []byte("EFI PART"))
		}
		return nil
	}
	do := func(code uint32, in, out []byte) error {
		h, err := openDisk(s, d)
		if err != nil {
			return err
		}
		defer h.Close()
		_, err = h.DeviceIoControl(code, in, out)
		return err
	}
	if err := ask("before", &answer.Before); err != nil {
		return answer, err
	}
	if answer.How, err = d.Grow(2 * gib); err != nil {
		return answer, err
	}
	if err := ask("grown", &answer.Grown); err != nil {
		return answer, err
	}
	if err := do(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24)); err != nil {
		return answer, err
	}
	if err := ask("size updated", &answer.SizeUpdated); err != nil {
		return answer, err
	}
	if err := do(win32.IOCTL_DISK_UPDATE_PROPERTIES, nil, nil); err != nil {
		return answer, err
	}
	if err := ask("properties updated", &answer.PropertiesUpdated); err != nil {
		return answer, err
	}
	answer.Grow = verdict(do(win32.IOCTL_DISK_GROW_PARTITION,
		win32.GrowPartition{Number: p.Number, BytesToGrow: 512 * mib}.Bytes(), nil))
	return answer, ask("partition grown", &answer.PartitionGrown)
}

func askIdentifiers(t testing.TB, s Subject) (any, error) {
	h, err := newDisk(t, s)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	answers := map[string]string{}
	for name, property := range map[string]uint32{
		"StorageDeviceIdProperty":       win32.StorageDeviceIdProperty,
		"StorageDeviceUniqueIdProperty": win32.StorageDeviceUniqueIdProperty,
	} {
		_, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: property}.Bytes(), make([]byte, 4096))
		answers[name] = verdict(err)
	}
	return answers, nil
}
