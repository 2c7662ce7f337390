// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func mountQuestions() []Question {
	return []Question{
		{28, "Which paths does GetVolumePathNamesForVolumeNameW list after an unmount, with the mount manager and without?",
			askPathNames},
		{29, "Do SetVolumeMountPointW and DeleteVolumeMountPointW bear handles that others have on the directory?",
			askHolders},
		{50, "After FSCTL_DELETE_REPARSE_POINT through a held handle, does IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED " +
			"remove the mount manager's record?", askMountManagerTold},
	}
}

// newVolume returns a formatted volume that is mounted nowhere.
func (q *inquiry) newVolume() string {
	q.Helper()
	volume, _ := q.ntfsVolume(q.attach().Number())
	return volume
}

func askPathNames(q *inquiry) {
	volume, at := q.newVolume(), q.mountPoint()
	answers := note(q, map[string]int{}) // how many
	ask := func(when string) {
		paths, err := q.Kernel.VolumePathNames(volume)
		answers[when] = len(paths)
		q.check(err)
	}
	ask("never mounted")
	for _, remove := range []struct {
		how string
		do  func() error
	}{
		{"DeleteVolumeMountPointW", func() error { return q.Kernel.DeleteVolumeMountPoint(at) }},
		{"FSCTL_DELETE_REPARSE_POINT", func() error {
			h, err := q.openPlace(at, win32.FILE_WRITE_ATTRIBUTES, shareAll)
			q.check(err)
			defer h.Close()
			return send(h, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT))
		}},
	} {
		q.check(q.Kernel.SetVolumeMountPoint(at, volume))
		ask("mounted, before " + remove.how)
		q.check(remove.do())
		ask("after " + remove.how)
	}
}

// held is the results of mounting and unmounting while a handle is open on the directory.
type held struct {
	Mount, Unmount string
	Ended          string // why the rest was not tried
}

func askHolders(q *inquiry) {
	volume := q.newVolume()
	const pinned = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE
	const list, write = win32.FILE_LIST_DIRECTORY, win32.FILE_WRITE_ATTRIBUTES
	note(q, map[string]held{
		"may delete":              q.mountHeld(volume, list|win32.DELETE, shareAll),
		"does not share deletion": q.mountHeld(volume, list, pinned),
		"does not share deletion, and may write attributes": q.mountHeld(volume, list|write, pinned),
	})
}

// mountHeld mounts and unmounts a volume while a directory is held, and each without the handle where that fails. An
// error without it, too, ends the part: its code is in the answer.
func (q *inquiry) mountHeld(volume string, access, share uint32) (answer held) {
	at := q.mountPoint()
	for _, step := range []struct {
		call   func() error
		result *string
	}{
		{func() error { return q.Kernel.SetVolumeMountPoint(at, volume) }, &answer.Mount},
		{func() error { return q.Kernel.DeleteVolumeMountPoint(at) }, &answer.Unmount},
	} {
		h, err := q.openPlace(at, access, share)
		if err != nil {
			answer.Ended = "opening the directory: " + verdict(err)
			return answer
		}
		err = step.call()
		_ = h.Close()
		if *step.result = verdict(err); err == nil {
			continue
		}
		if err := step.call(); err != nil {
			answer.Ended = "without the handle: " + verdict(err)
			return answer
		}
	}
	return answer
}

// mountPointDeleted is IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_volume_mount_point_deleted
const mountPointDeleted = 0x006DC01C

// mountPointNames returns a MOUNTMGR_VOLUME_MOUNT_POINT: the offset and length of each name, and the names.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ns-mountmgr-_mountmgr_volume_mount_point
func mountPointNames(mountPoint, volume string) []byte {
	const header = 8
	var b, names []byte
	for _, name := range []string{mountPoint, volume} {
		offset := header + len(names)
		for _, unit := range utf16.Encode([]rune(name)) {
			names = binary.LittleEndian.AppendUint16(names, unit)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(offset))
		b = binary.LittleEndian.AppendUint16(b, uint16(header+len(names)-offset))
	}
	return append(b, names...)
}

// askMountManagerTold removes a mount point through a handle that does not share deletion, as the agent could. The page
// spells a mount point \DosDevices\E:\dir; whether other spellings count is open.
func askMountManagerTold(q *inquiry) {
	volume, at := q.newVolume(), q.mountPoint()
	q.check(q.Kernel.SetVolumeMountPoint(at, volume))
	place, err := q.openPlace(at, win32.FILE_LIST_DIRECTORY|win32.FILE_WRITE_ATTRIBUTES,
		win32.FILE_SHARE_READ|win32.FILE_SHARE_WRITE)
	q.check(err)
	defer place.Close()
	at = strings.TrimSuffix(at, `\`)
	var answers []string
	step := func(name string, err error) (listed bool) {
		paths, failure := q.Kernel.VolumePathNames(volume)
		answers = append(answers, fmt.Sprintf("%s: %s; listed: %d, %s", name, verdict(err), len(paths), verdict(failure)))
		q.noted = answers
		return failure != nil || len(paths) > 0
	}
	err = send(place, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT))
	listed := step("FSCTL_DELETE_REPARSE_POINT", err)
	manager, err := q.Kernel.OpenDevice(`\\.\MountPointManager`, readWrite)
	if err != nil {
		step("opening the mount manager", err)
		return
	}
	defer manager.Close()
	unique := strings.TrimSuffix(strings.Replace(volume, `\\?\`, `\??\`, 1), `\`)
	for _, spelling := range []string{`\DosDevices\` + at, `\DosDevices\` + at + `\`, `\??\` + at, `\??\` + at + `\`} {
		if !listed {
			break
		}
		err := send(manager, mountPointDeleted, mountPointNames(spelling, unique))
		listed = step("IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED of "+strings.Replace(spelling, at, "C:…", 1), err)
	}
}
