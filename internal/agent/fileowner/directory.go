// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Lists of directories on Windows and of all that is made in them. Neither inherits anything from above: by default
// anyone may add files below a new directory of C:\, and a link put there would make the agent write where it leads.
var (
	// private: SYSTEM and Administrators may do everything, all others nothing.
	private = win32.NewProtectedList(win32.NewAccessEntry(win32.SystemSID(), win32.FILE_ALL_ACCESS),
		win32.NewAccessEntry(win32.AdministratorsSID(), win32.FILE_ALL_ACCESS))
	// readable: Users may read and run, besides.
	readable = win32.NewProtectedList(win32.NewAccessEntry(win32.SystemSID(), win32.FILE_ALL_ACCESS),
		win32.NewAccessEntry(win32.AdministratorsSID(), win32.FILE_ALL_ACCESS),
		win32.NewAccessEntry("S-1-5-32-545", win32.FILE_GENERIC_READ|win32.FILE_GENERIC_EXECUTE))
)

// IsLink reports whether a directory is a link or another reparse point, so that files in it end up elsewhere.
func IsLink(path string) (bool, error) {
	info, err := os.Lstat(filepath.Clean(path)) // a separator at the end would follow the link
	if err != nil {
		return false, err
	}
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0, nil
}

// MakeDirectory makes a directory, with its missing parents. On Windows only SYSTEM and Administrators may change what
// it makes, and Users may read. A directory that exists stays as it is.
func MakeDirectory(path string) error { return makeDirectory(path, readable) }

// MakePrivateDirectory makes a directory for logs or other records, which on Windows only SYSTEM and Administrators may
// read and change, with its missing parents, which others may need as well, as MakeDirectory makes them.
func MakePrivateDirectory(path string) error { return makeDirectory(path, private) }
