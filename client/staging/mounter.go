// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// A Mounter mounts through one agent. It keeps no state and is safe for concurrent use. Where the agent serves the
// group nodesteps, a step is one call, and otherwise several.
type Mounter struct {
	client  *calls.Client
	kubelet kubelet
	agent   Agent // the zero value for drivers
}

// New returns a mounter that calls an agent, or the node in this process, through a client. The caller closes the
// client.
func New(client *calls.Client) *Mounter { return &Mounter{client: client} }

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
	if isRemote(source) {
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

// Publish makes target a link to the directory source, and makes the directories above target. It replaces an empty
// directory, a mount point or another link, and refuses a directory with content: csiproxy.ErrDirectoryNotEmpty.
func (m *Mounter) Publish(ctx context.Context, source, target string) error {
	request := &filesystemapi.CreateSymlinkRequest{SourcePath: windowsPath(source), TargetPath: windowsPath(target)}
	return m.replacing(ctx, request.TargetPath, false, func() error {
		_, err := m.client.Filesystem.CreateSymlink(ctx, request)
		return err
	})
}

// replacing makes a link at target. What is there is removed if it is a link or an empty directory, and by force also
// a directory with content.
func (m *Mounter) replacing(ctx context.Context, target string, force bool, link func() error) error {
	if err := m.makeParent(ctx, target); err != nil {
		return err
	}
	err := link()
	if !errors.Is(err, calls.ErrPathExists) {
		return err
	}
	_, err = m.client.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: target, Force: force})
	if err != nil && !errors.Is(err, calls.ErrPathNotFound) {
		return err
	}
	return link()
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
	exists, err := m.exists(ctx, file)
	if err != nil {
		return false, err
	}
	if !exists {
		return false, &fs.PathError{Op: "look at", Path: file, Err: fs.ErrNotExist}
	}
	answer, err := m.client.Filesystem.IsSymlink(ctx, &filesystemapi.IsSymlinkRequest{Path: file})
	return answer.GetIsSymlink(), err
}

// CanSafelySkipMountPointCheck returns false: Unmount of a plain directory with content fails.
func (m *Mounter) CanSafelySkipMountPointCheck() bool { return false }

// Remove removes a directory with its content, a link, or a mount point; the content of a mounted volume stays. A
// missing path is success.
func (m *Mounter) Remove(ctx context.Context, path string) error {
	_, err := m.client.Filesystem.Rmdir(ctx, &filesystemapi.RmdirRequest{Path: windowsPath(path), Force: true})
	return err
}

// PathExists reports whether there is anything at a path, without following it: a link or mount point exists even if it
// leads nowhere.
func (m *Mounter) PathExists(ctx context.Context, path string) (bool, error) {
	return m.exists(ctx, windowsPath(path))
}

// Mkdir makes a directory and those above it. An existing one is success.
func (m *Mounter) Mkdir(ctx context.Context, path string) error {
	return m.makeDirectory(ctx, windowsPath(path))
}

func (m *Mounter) exists(ctx context.Context, path string) (bool, error) {
	answer, err := m.client.Filesystem.PathExists(ctx, &filesystemapi.PathExistsRequest{Path: path})
	return answer.GetExists(), err
}

func (m *Mounter) makeDirectory(ctx context.Context, path string) error {
	_, err := m.client.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: path})
	return err
}

func (m *Mounter) makeParent(ctx context.Context, path string) error {
	parent := path[:max(strings.LastIndexByte(strings.TrimRight(path, `\`), '\\'), 0)]
	if parent == "" || strings.HasSuffix(parent, ":") {
		return nil
	}
	return m.makeDirectory(ctx, parent)
}

// windowsPath returns a path in the form that every method of the API takes: with backslashes and a drive.
func windowsPath(path string) string {
	path = strings.ReplaceAll(path, "/", `\`)
	if strings.HasPrefix(path, `\`) && !isRemote(path) {
		path = "C:" + path
	}
	return path
}

// isRemote reports whether a path is on a server.
func isRemote(path string) bool {
	return strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "//")
}

// Credentials are the credentials for an SMB server.
type Credentials struct {
	User     string // user, DOMAIN\user or AZURE\account
	Password string
}

// String omits the password.
func (c Credentials) String() string { return c.User + " [redacted]" }

// GoString omits the password.
func (c Credentials) GoString() string { return c.String() }

// MountShare maps the share of a remote path, \\server\share or a directory in it, for the whole node. It makes target
// a link to the remote path, and makes the directories above target. An existing target is removed, see Mount. A
// mapping that works is kept, whatever the credentials; one that its server refuses is replaced.
func (m *Mounter) MountShare(ctx context.Context, remote, target string, credentials Credentials) error {
	return m.mountShare(ctx, remote, windowsPath(target), credentials, true)
}

// mountShare removes an existing target, see replacing.
func (m *Mounter) mountShare(ctx context.Context, remote, target string, credentials Credentials, force bool) error {
	return m.replacing(ctx, target, force, func() error {
		_, err := m.client.SMB.NewSmbGlobalMapping(ctx, &calls.NewSmbGlobalMappingRequest{
			RemotePath: windowsPath(remote), LocalPath: target, Username: credentials.User, Password: credentials.Password,
		})
		return err
	})
}

// UnmapShare removes the mapping of a share. All links into the share use the mapping, so call it with the last of
// them. A share that is not mapped is success. Unmount removes the links, before or after.
func (m *Mounter) UnmapShare(ctx context.Context, remote string) error {
	_, err := m.client.SMB.RemoveSmbGlobalMapping(ctx,
		&calls.RemoveSmbGlobalMappingRequest{RemotePath: windowsPath(remote)})
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
