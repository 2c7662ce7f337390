// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
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

// freshVolume returns a formatted volume that is mounted nowhere, and a directory to mount it at, with a backslash at
// its end.
func freshVolume(t testing.TB, s Subject) (volume, at string, err error) {
	d, err := s.Attach(t, gib, 0)
	if err != nil {
		return "", "", err
	}
	if volume, _, err = formatted(s, d); err != nil {
		return "", "", err
	}
	at, err = mountPoint(s)
	return volume, at, err
}

func askPathNames(t testing.TB, s Subject) (any, error) {
	volume, at, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	answers := map[string]int{} // how many
	ask := func(when string) error {
		paths, err := s.Kernel.VolumePathNames(volume)
		answers[when] = len(paths)
		return err
	}
	if err := ask("never mounted"); err != nil {
		return answers, err
	}
	for _, remove := range []struct {
		how string
		do  func() error
	}{
		{"DeleteVolumeMountPointW", func() error { return s.Kernel.DeleteVolumeMountPoint(at) }},
		{"FSCTL_DELETE_REPARSE_POINT", func() error {
			h, err := openPlace(s, strings.TrimSuffix(at, `\`), win32.FILE_WRITE_ATTRIBUTES, shareAll)
			if err != nil {
				return err
			}
			defer h.Close()
			return send(h, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT))
		}},
	} {
		if err := s.Kernel.SetVolumeMountPoint(at, volume); err != nil {
			return answers, err
		}
		if err := ask("mounted, before " + remove.how); err != nil {
			return answers, err
		}
		if err := remove.do(); err != nil {
			return answers, err
		}
		if err := ask("after " + remove.how); err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// held is the results of mounting and unmounting while a handle is open on the directory.
type held struct {
	Mount, Unmount string
	Ended          string `json:",omitempty"` // why the rest was not tried
}

func askHolders(t testing.TB, s Subject) (any, error) {
	volume, _, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	const pinned = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE
	const list, write = win32.FILE_LIST_DIRECTORY, win32.FILE_WRITE_ATTRIBUTES
	return map[string]held{
		"may delete":              mountHeld(s, volume, list|win32.DELETE, shareAll),
		"does not share deletion": mountHeld(s, volume, list, pinned),
		"does not share deletion, and may write attributes": mountHeld(s, volume, list|write, pinned),
	}, nil
}

// mountHeld mounts and unmounts a volume while a directory is held, and each without the handle where that fails. An
// error without it, too, ends the part: its code is in the answer.
func mountHeld(s Subject, volume string, access, share uint32) (answer held) {
	at, err := mountPoint(s)
	if err != nil {
		answer.Ended = "making a directory: " + verdict(err)
		return answer
	}
	for _, step := range []struct {
		call   func() error
		result *string
	}{
		{func() error { return s.Kernel.SetVolumeMountPoint(at, volume) }, &answer.Mount},
		{func() error { return s.Kernel.DeleteVolumeMountPoint(at) }, &answer.Unmount},
	} {
		h, err := openPlace(s, strings.TrimSuffix(at, `\`), access, share)
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
func askMountManagerTold(t testing.TB, s Subject) (any, error) {
	volume, at, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	if err := s.Kernel.SetVolumeMountPoint(at, volume); err != nil {
		return nil, err
	}
	at = strings.TrimSuffix(at, `\`)
	const access, share = win32.FILE_LIST_DIRECTORY | win32.FILE_WRITE_ATTRIBUTES,
		win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE
	place, err := openPlace(s, at, access, share)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	var answers []string
	step := func(name string, err error) (listed bool) {
		paths, failure := s.Kernel.VolumePathNames(volume)
		answers = append(answers, fmt.Sprintf("%s: %s; listed: %d, %s", name, verdict(err), len(paths), verdict(failure)))
		return failure != nil || len(paths) > 0
	}
	err = send(place, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT))
	listed := step("FSCTL_DELETE_REPARSE_POINT", err)
	manager, err := s.Kernel.OpenDevice(`\\.\MountPointManager`, readWrite)
	if err != nil {
		return append(answers, "opening the mount manager: "+verdict(err)), nil
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
	return answers, nil
}
