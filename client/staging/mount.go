// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// Mount makes the content of source available at target. A source on an SMB server, \\server\share\dir or
// //server/share/dir, is mapped with the user and the password in the options, see MountSensitive. Any other source is
// a directory of the node, as drivers publish it: target becomes a link to it.
//
// An existing target is replaced as by Publish, which refuses a directory with content. Windows has no read-only
// mounts: the container runtime must enforce the option ro. All other options of a link are ignored.
func (m *Mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitive(source, target, fstype, options, nil)
}

// MountSensitive is Mount with options that never appear in an error. The user and password of an SMB share are
// username=U (or user=U) and password=P among the options of either kind or, as in other mounters for Windows, the
// first of the options and the first of the sensitive ones. A domain=D is put before the user.
func (m *Mounter) MountSensitive(source, target, _ string, options, sensitiveOptions []string) error {
	ctx := context.Background()
	if stepwise.IsRemote(source) {
		return m.MountShare(ctx, source, target, credentialsOf(options, sensitiveOptions))
	}
	return m.Publish(ctx, source, target)
}

// MountSensitiveWithoutSystemd is MountSensitive: Windows has no systemd.
func (m *Mounter) MountSensitiveWithoutSystemd(source, target, fstype string, options,
	sensitiveOptions []string) error {
	return m.MountSensitive(source, target, fstype, options, sensitiveOptions)
}

// MountSensitiveWithoutSystemdWithMountFlags is MountSensitive: Windows has no mount flags.
func (m *Mounter) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options,
	sensitiveOptions, _ []string) error {
	return m.MountSensitive(source, target, fstype, options, sensitiveOptions)
}

// IsLikelyNotMountPoint reports whether a path is neither a mount point nor a link with an existing target. A path that
// does not exist is fs.ErrNotExist; a link whose target is gone is likely not a mount point.
func (m *Mounter) IsLikelyNotMountPoint(file string) (bool, error) {
	is, err := m.IsMountPoint(file)
	return !is, err
}

// IsMountPoint reports whether a path is a mount point or a link with an existing target. A path that does not exist is
// fs.ErrNotExist.
func (m *Mounter) IsMountPoint(file string) (bool, error) {
	ctx, file := context.Background(), stepwise.WindowsPath(file)
	exists, err := m.PathExists(ctx, file)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, &fs.PathError{Op: "look at", Path: file, Err: fs.ErrNotExist}
	}
	answer, err := m.client.Filesystem.IsSymlink(ctx, &calls.IsSymlinkRequest{Path: file})
	return answer.GetIsSymlink(), err
}

// CanSafelySkipMountPointCheck returns false: Unmount of a plain directory with content fails.
func (m *Mounter) CanSafelySkipMountPointCheck() bool { return false }

// Remove removes a directory with its content, a link, or a mount point; the content of a mounted volume stays. A
// missing path is success.
func (m *Mounter) Remove(ctx context.Context, path string) error {
	_, err := m.client.Filesystem.Rmdir(ctx, &calls.RmdirRequest{Path: stepwise.WindowsPath(path), Force: true})
	return err
}

// MountShare maps the share of a remote path, \\server\share or a directory in it, for the whole node. It makes target
// a link to the remote path, and makes the directories above target. An existing target is removed, see Mount. A
// mapping that works is kept, whatever the credentials; one that its server refuses is replaced.
func (m *Mounter) MountShare(ctx context.Context, remote, target string, credentials stepwise.Credentials) error {
	return m.LinkShare(ctx, remote, target, credentials, true)
}

// credentialsOf finds the credentials among mount options.
func credentialsOf(options, sensitive []string) stepwise.Credentials {
	var c stepwise.Credentials
	domain := ""
	for _, option := range flat(options, sensitive) {
		key, value, _ := strings.Cut(option, "=")
		switch strings.ToLower(key) {
		case "username", "user":
			c.User = value
		case "password", "pass":
			c.Password = value
		case "domain":
			domain = value
		}
	}
	if c.User == "" && len(options) > 0 && !strings.Contains(options[0], "=") {
		c.User = options[0]
	}
	if c.Password == "" && len(sensitive) > 0 && !strings.HasPrefix(sensitive[0], "username=") {
		c.Password = sensitive[0]
	}
	if domain != "" && !strings.Contains(c.User, `\`) {
		c.User = domain + `\` + c.User
	}
	return c
}

// flat splits options at commas. An option with a password stays whole, because the password may contain a comma.
func flat(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, option := range list {
			for option != "" && !strings.HasPrefix(option, "password=") && !strings.HasPrefix(option, "pass=") {
				first, rest, _ := strings.Cut(option, ",")
				all, option = append(all, first), rest
			}
			if option != "" {
				all = append(all, option)
			}
		}
	}
	return all
}

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
