// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func mountQuestions() []Question {
	return []Question{
		{28, "Which paths does GetVolumePathNamesForVolumeNameW list after an unmount, with the mount manager and without?", askPathNames},
		{29, "Do SetVolumeMountPointW and DeleteVolumeMountPointW bear handles that others have on the directory?", askHolders},
	}
}

// freshVolume returns a formatted volume that is mounted nowhere, and a directory to mount it at, with a backslash at its
// end.
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
	look := func(when string) error {
		paths, err := s.Kernel.VolumePathNames(volume)
		answers[when] = len(paths)
		return err
	}
	if err := look("never mounted"); err != nil {
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
		if err := look("mounted, before " + remove.how); err != nil {
			return answers, err
		}
		if err := remove.do(); err != nil {
			return answers, err
		}
		if err := look("after " + remove.how); err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// held is the results of mounting and unmounting while somebody has a handle on the directory.
type held struct {
	Mount, Unmount string
}

func askHolders(t testing.TB, s Subject) (any, error) {
	volume, at, err := freshVolume(t, s)
	if err != nil {
		return nil, err
	}
	place := strings.TrimSuffix(at, `\`)
	const pinned = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE
	answers := map[string]held{}
	for _, holder := range []struct {
		name          string
		access, share uint32
	}{
		{"may delete", win32.DELETE | win32.FILE_LIST_DIRECTORY, shareAll},
		{"does not share deletion", win32.FILE_LIST_DIRECTORY, pinned},
		{"does not share deletion, and may write attributes", win32.FILE_LIST_DIRECTORY | win32.FILE_WRITE_ATTRIBUTES, pinned},
	} {
		var answer held
		during := func(call func() error) (string, error) {
			h, err := openPlace(s, place, holder.access, holder.share)
			if err != nil {
				return "", err
			}
			defer h.Close()
			return verdict(call()), nil
		}
		mount := func() error { return s.Kernel.SetVolumeMountPoint(at, volume) }
		unmount := func() error { return s.Kernel.DeleteVolumeMountPoint(at) }
		if answer.Mount, err = during(mount); err != nil {
			return answers, err
		}
		if answer.Mount != "success" {
			if err := mount(); err != nil {
				return answers, err
			}
		}
		if answer.Unmount, err = during(unmount); err != nil {
			return answers, err
		}
		if answer.Unmount != "success" {
			if err := unmount(); err != nil {
				return answers, err
			}
		}
		answers[holder.name] = answer
	}
	return answers, nil
}
