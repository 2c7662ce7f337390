// SPDX-License-Identifier: Apache-2.0

// Package reparse makes reparse points for tests past the agent, as workloads and other programs do.
package reparse

import (
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Symlink returns a symbolic link to a full path, to UNC\server\share or into a volume.
func Symlink(to string) win32.ReparsePoint {
	return win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: ntName(to), PrintName: to}
}

// Relative returns a symbolic link to a path from where it lies.
func Relative(to string) win32.ReparsePoint {
	return win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: to, PrintName: to, Relative: true}
}

// Junction returns a junction or, to a volume's name, a mount point of which the mount manager knows nothing.
func Junction(to string) win32.ReparsePoint {
	return win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: ntName(to)}
}

// ntName returns a path or a volume's name as reparse points spell it.
func ntName(path string) string { return `\??\` + strings.TrimPrefix(path, `\\?\`) }

// Plant makes a reparse point of an empty directory, which it makes if that is missing.
func Plant(k kernel.Kernel, path string, point win32.ReparsePoint) error {
	h, err := k.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access:      win32.FILE_WRITE_ATTRIBUTES,
		Share:       win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE,
		Disposition: win32.FILE_OPEN_IF,
		Options:     win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if err != nil {
		return err
	}
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	return errors.Join(err, h.Close())
}
