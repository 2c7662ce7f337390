// SPDX-License-Identifier: Apache-2.0

// Package ondisk reads and writes the bytes of a disk that Windows knows: GUID partition tables (UEFI specification,
// chapter 5), master boot records, and the boot sectors of file systems. It is pure: what is to be written is blocks,
// which the caller brings to the medium together.
package ondisk
