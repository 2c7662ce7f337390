// SPDX-License-Identifier: Apache-2.0

// Package ondisk reads and writes the bytes of a disk that Windows knows: master boot records, the layout of partitions
// of either kind, and the boot sectors of file systems.
package ondisk
