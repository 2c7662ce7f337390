// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	mount "k8s.io/mount-utils"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

var _ mount.Interface = (*Mounter)(nil)

// List returns an empty list, as that of mount-utils does on Windows: the API does not list the mount points of a node.
// IsMountPoint and GetMountRefs do not need it; mount.IsNotMountPoint and mount.GetDeviceNameFromMount find nothing.
func (m *Mounter) List() ([]mount.MountPoint, error) { return []mount.MountPoint{}, nil }

// Mount makes the content of source available at target. A source on an SMB server, \\server\share\dir or
// //server/share/dir, is mapped with the user and the password in the options, see MountSensitive. Any other source is
// a directory of the node, as drivers publish it: target becomes a link to it. The directories above target are made.
//
// An empty directory, a mount point or another link at target is replaced; a directory with content is
// csiproxy.ErrDirectoryNotEmpty. Windows has no read-only mounts: the container runtime must enforce the option ro. All
// other options of a link are ignored.
func (m *Mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitive(source, target, fstype, options, nil)
}

// MountSensitive is Mount with options that never appear in an error. The user and password of an SMB share are
// username=U (or user=U) and password=P among the options of either kind or, as in other mounters for Windows, the
// first of the options and the first of the sensitive ones. A domain=D is put before the user.
func (m *Mounter) MountSensitive(source, target, _ string, options, sensitiveOptions []string) error {
	ctx, source, target := context.Background(), windowsPath(source), windowsPath(target)
	if err := m.makeParent(ctx, target); err != nil {
		return err
	}
	link := func() error {
		if !isRemote(source) {
			_, err := m.client.Filesystem.CreateSymlink(ctx,
				&csiproxy.CreateSymlinkRequest{SourcePath: source, TargetPath: target})
			return err
		}
		as := credentialsOf(options, sensitiveOptions)
		_, err := m.client.SMB.NewSmbGlobalMapping(ctx, &csiproxy.NewSmbGlobalMappingRequest{
			RemotePath: source, LocalPath: target, Username: as.User, Password: as.Password})
		return err
	}
	err := link()
	if !errors.Is(err, csiproxy.ErrPathExists) {
		return err
	}
	if err := m.rmdir(ctx, target, false); err != nil {
		return err
	}
	return link()
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

// Unmount flushes the volume, then removes the link or the mount point at target, and the directory. It deletes no
// file: a directory with content is csiproxy.ErrDirectoryNotEmpty. A missing target is success. The disk of the volume
// stays online, and the mapping of a share stays: see Unstage.
func (m *Mounter) Unmount(target string) error {
	ctx, target := context.Background(), windowsPath(target)
	at, err := m.client.Volume.GetVolumeIDFromTargetPath(ctx,
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: target})
	if err == nil {
		_, err = m.client.Volume.UnmountVolume(ctx,
			&csiproxy.UnmountVolumeRequest{VolumeId: at.GetVolumeId(), TargetPath: target})
	}
	if err != nil && !isAny(err, csiproxy.ErrNotMounted, csiproxy.ErrLink, csiproxy.ErrOnShare,
		csiproxy.ErrPathNotFound) {
		return fmt.Errorf("unmounting %s: %w", target, err)
	}
	link, err := m.client.Filesystem.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: target})
	if err == nil { // by force, a link goes and not what it leads to
		return m.rmdir(ctx, target, link.GetIsSymlink())
	}
	if errors.Is(err, csiproxy.ErrPathNotFound) {
		return nil
	}
	return err
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
	ctx, file := context.Background(), windowsPath(file)
	exists, err := m.PathExists(ctx, file)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, &fs.PathError{Op: "look at", Path: file, Err: fs.ErrNotExist}
	}
	answer, err := m.client.Filesystem.IsSymlink(ctx, &csiproxy.IsSymlinkRequest{Path: file})
	return answer.GetIsSymlink(), err
}

// CanSafelySkipMountPointCheck returns false: Unmount of a plain directory with content fails.
func (m *Mounter) CanSafelySkipMountPointCheck() bool { return false }

// FormatAndMount is StageDisk for the disk whose number in decimal is the source. It stands in for SafeFormatAndMount
// of mount-utils, which works on Linux or through PowerShell. The file system is NTFS or empty. With the option ro it
// formats nothing, see StageOptions.ReadOnly; rw and defaults change nothing. Any other option is fs.ErrInvalid.
func (m *Mounter) FormatAndMount(source, target, fstype string, options []string) error {
	return m.FormatAndMountSensitiveWithFormatOptions(source, target, fstype, options, nil, nil)
}

// FormatAndMountSensitive is FormatAndMount. A disk needs no secrets, so sensitive options are fs.ErrInvalid.
func (m *Mounter) FormatAndMountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	return m.FormatAndMountSensitiveWithFormatOptions(source, target, fstype, options, sensitiveOptions, nil)
}

// FormatAndMountSensitiveWithFormatOptions is FormatAndMountSensitive. Format options are fs.ErrInvalid, too.
func (m *Mounter) FormatAndMountSensitiveWithFormatOptions(source, target, fstype string, options, sensitiveOptions,
	formatOptions []string) error {
	var stage StageOptions
	for _, option := range flat(options) {
		switch option {
		case "ro":
			stage.ReadOnly = true
		case "rw", "defaults":
		default:
			return fmt.Errorf("%w: mount option %q: volumes of Windows nodes have none", fs.ErrInvalid, option)
		}
	}
	switch {
	case len(sensitiveOptions) > 0:
		return fmt.Errorf("%w: %d sensitive mount options: volumes of Windows nodes have none", fs.ErrInvalid,
			len(sensitiveOptions))
	case len(formatOptions) > 0:
		return fmt.Errorf("%w: format options %q: volumes of Windows nodes have none", fs.ErrInvalid, formatOptions)
	}
	if fstype != "" && !strings.EqualFold(fstype, "ntfs") {
		return fmt.Errorf("%w: file system %q: volumes of Windows nodes are formatted with NTFS", fs.ErrInvalid, fstype)
	}
	disk, err := strconv.ParseUint(source, 10, 32)
	if err != nil {
		return fmt.Errorf("%w: source %q is not the number of a disk", fs.ErrInvalid, source)
	}
	_, err = m.StageDisk(context.Background(), ByNumber(uint32(disk)), target, stage)
	return err
}

// credentialsOf finds the credentials among mount options.
func credentialsOf(options, sensitive []string) Credentials {
	var c Credentials
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
