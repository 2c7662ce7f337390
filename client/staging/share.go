// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"strings"

	csiproxy "github.com/kubernetes-csi/csi-proxy/client/calls"
)

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
		_, err := m.client.SMB.NewSmbGlobalMapping(ctx, &csiproxy.NewSmbGlobalMappingRequest{
			RemotePath: windowsPath(remote), LocalPath: target, Username: credentials.User, Password: credentials.Password,
		})
		return err
	})
}

// UnmapShare removes the mapping of a share. All links into the share use the mapping, so call it with the last of
// them. A share that is not mapped is success. Unmount removes the links, before or after.
func (m *Mounter) UnmapShare(ctx context.Context, remote string) error {
	_, err := m.client.SMB.RemoveSmbGlobalMapping(ctx,
		&csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: windowsPath(remote)})
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
