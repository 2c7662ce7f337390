// SPDX-License-Identifier: Apache-2.0

// Package ntfs makes empty NTFS file systems, version 3.1, and makes existing ones larger. It does no I/O of its own
// but reads: what changes is returned as blocks to write.
//
// The format is that of the structures in the documentation of the Linux-NTFS project and of the header layout.h of
// ntfs-3g; ntfs-3g's tools are the witnesses in the tests.
// https://flatcap.github.io/linux-ntfs/ntfs/
package ntfs
