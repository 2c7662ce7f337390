// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// fileSystem is the file system that the agent makes.
const fileSystem = "ntfs"

// FormatAndMount mounts a disk at target and formats it first if it is blank. It stands in for SafeFormatAndMount of
// mount-utils, which works on Linux or through PowerShell. The source is the disk's number in decimal; the file system
// is NTFS or empty. The options are ignored: see Mount for ro.
func (m *Mounter) FormatAndMount(source, target, fstype string, options []string) error {
	return m.FormatAndMountSensitiveWithFormatOptions(source, target, fstype, options, nil, nil)
}

// FormatAndMountSensitive is FormatAndMount: a disk needs no secrets.
func (m *Mounter) FormatAndMountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	return m.FormatAndMountSensitiveWithFormatOptions(source, target, fstype, options, sensitiveOptions, nil)
}

// FormatAndMountSensitiveWithFormatOptions is FormatAndMount. It refuses format options, which the agent would ignore.
func (m *Mounter) FormatAndMountSensitiveWithFormatOptions(source, target, fstype string, _, _,
	formatOptions []string) error {
	if len(formatOptions) > 0 {
		return fmt.Errorf("format options %q: volumes of Windows nodes have none", formatOptions)
	}
	if fstype != "" && !strings.EqualFold(fstype, fileSystem) {
		return fmt.Errorf("file system %q: volumes of Windows nodes are formatted with NTFS", fstype)
	}
	disk, err := strconv.ParseUint(source, 10, 32)
	if err != nil {
		return fmt.Errorf("source %q is not the number of a disk", source)
	}
	return m.MountDisk(context.Background(), uint32(disk), target)
}
