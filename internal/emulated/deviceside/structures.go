// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// Access that a control code needs from the handle (CTL_CODE's Access).
const (
	FILE_READ_ACCESS  = 1 // GENERIC_READ
	FILE_WRITE_ACCESS = 2 // GENERIC_WRITE
)

// What the agent asks for nowhere: a reparse tag, which the Windows Subsystem for Linux makes and Win32 cannot follow,
// and an attribute of files.
const (
	IO_REPARSE_TAG_LX_SYMLINK = 0xA000001D
	FILE_ATTRIBUTE_ARCHIVE    = 0x20
)

// FileStandard encodes a FILE_STANDARD_INFO, of which the agent reads whether the file is a directory.
func FileStandard(directory bool) []byte {
	b := make(cstruct.Buffer, win32.SizeofFileStandard)
	b.PutFlag(21, directory) // Directory
	return b
}

// align rounds n up to a multiple of to, a power of two.
func align(n, to int) int { return (n + to - 1) &^ (to - 1) }
