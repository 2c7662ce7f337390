// SPDX-License-Identifier: Apache-2.0

package fileowner

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

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
