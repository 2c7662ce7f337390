// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"bytes"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Lists of directories on Windows and of all that is made in them. Neither inherits anything from above: by default
// anyone may add files below a new directory of C:\, and a link put there would make the agent write where it leads.
var (
	// private: SYSTEM and Administrators may do everything, all others nothing.
	private = win32.NewProtectedList(win32.NewAccessEntry(win32.SystemSID(), win32.FILE_ALL_ACCESS),
		win32.NewAccessEntry(win32.AdministratorsSID(), win32.FILE_ALL_ACCESS))
	// readable: Users may read and run, besides. Earlier releases gave it to directories of logs and records.
	readable = win32.NewProtectedList(win32.NewAccessEntry(win32.SystemSID(), win32.FILE_ALL_ACCESS),
		win32.NewAccessEntry(win32.AdministratorsSID(), win32.FILE_ALL_ACCESS),
		win32.NewAccessEntry("S-1-5-32-545", win32.FILE_GENERIC_READ|win32.FILE_GENERIC_EXECUTE))
)

// ours reports whether an owner is one of those that the agent's directories have.
func ours(owner string) bool {
	return owner == string(win32.SystemSID()) || owner == string(win32.AdministratorsSID())
}

// isNotPrivate reports whether a list is any other than the private one.
func isNotPrivate(list win32.AccessList) bool { return !bytes.Equal(list.Bytes(), private.Bytes()) }

// isReadable reports whether a directory's list is exactly the readable one.
func isReadable(list win32.AccessList) bool { return bytes.Equal(list.Bytes(), readable.Bytes()) }

// inReadable reports whether a file has the list with which files begin in a readable directory. Whether its entries
// are marked as inherited depends on the directory.
func inReadable(list win32.AccessList) bool {
	plain := func(list win32.AccessList) []win32.AccessEntry {
		entries := list.Allowed()
		for i := range entries {
			entries[i].Flags = 0
		}
		return entries
	}
	return len(list.Bytes()) == len(readable.Bytes()) && slices.Equal(plain(list), plain(readable))
}
