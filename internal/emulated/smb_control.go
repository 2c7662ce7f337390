// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// changeSMB changes the file servers to a valid state, and makes the directories of new shares.
func (n *Node) changeSMB(what string, change func(*smb.State) error) error {
	defer n.control()()
	next := n.state.clone().SMB
	for i := range next.Servers {
		next.Servers[i].Shares = slices.Clone(next.Servers[i].Shares)
	}
	err := change(&next)
	if err == nil {
		err = next.Check()
	}
	if err == nil {
		err = smb.CreateShares(n.host, n.dir, next)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return n.update(func(s *state) { s.SMB = next })
}

// changeFound changes an account or a file server, if it exists.
func changeFound[T any](found *T, change func(*T)) error {
	if found == nil {
		return smb.ErrNoSuch
	}
	change(found)
	return nil
}

// SetSMBPassword changes the password of an account, named with or without a domain. Servers refuse sessions with the
// old password at once.
func (n *Node) SetSMBPassword(user, password string) error {
	return n.changeSMB(fmt.Sprintf("account %q", user), func(s *smb.State) error {
		return changeFound(s.User(user, ""), func(u *smb.User) { u.SetPassword(password) })
	})
}

// SetSMBServerRunning stops a file server, and every file that is open there is lost, or starts it again, and mappings
// of its shares work again by themselves. It is idempotent.
func (n *Node) SetSMBServerRunning(name string, running bool) error {
	return n.changeSMB(fmt.Sprintf("file server %q", name), func(s *smb.State) error {
		return changeFound(s.Server(name), func(o *smb.Server) { o.Stopped = !running })
	})
}

// AddSMBShare adds a share to a file server, with its directory, and the server if there is none of the name. An
// existing share gets the accounts; without accounts, all may use it. smb.ErrInvalid: a name is not valid, or there is
// no such account.
func (n *Node) AddSMBShare(serverName, shareName string, users []string) error {
	return n.changeSMB(fmt.Sprintf(`share \\%s\%s`, serverName, shareName), func(s *smb.State) error {
		if s.Server(serverName) == nil {
			s.Servers = append(s.Servers, smb.Server{Name: serverName})
		}
		server := s.Server(serverName)
		server.Drop(shareName)
		server.Shares = append(server.Shares, smb.Share{Name: shareName, Users: slices.Clone(users)})
		return s.CheckUsers(users)
	})
}

// SetSMBShareSpace sets the size of a share and the quota of each account there, in bytes; 0: the default, and none. It
// keeps no file from being written. smb.ErrInvalid: more than 16 TiB, or less than nothing.
func (n *Node) SetSMBShareSpace(serverName, shareName string, size, quota int64) error {
	return n.changeSMB(fmt.Sprintf(`share \\%s\%s`, serverName, shareName), func(s *smb.State) error {
		return changeFound(s.Share(serverName, shareName), func(o *smb.Share) {
			o.SizeBytes, o.QuotaBytes = setting.Size(size), setting.Size(quota)
		})
	})
}

// RemoveSMBShare removes a share, whatever is open there. Its files stay, for a share of the same name.
func (n *Node) RemoveSMBShare(serverName, shareName string) error {
	return n.changeSMB(fmt.Sprintf(`share \\%s\%s`, serverName, shareName), func(s *smb.State) error {
		return changeFound(s.Share(serverName, shareName), func(*smb.Share) { s.Server(serverName).Drop(shareName) })
	})
}

// AddSMBUser adds an account to all file servers. smb.ErrInvalid: the name is not valid or is taken.
func (n *Node) AddSMBUser(user smb.User) error {
	return n.changeSMB(fmt.Sprintf("account %q", user.Name), func(s *smb.State) error {
		if s.User(user.Name, "") != nil {
			return fmt.Errorf("it exists already: %w", smb.ErrInvalid)
		}
		s.Add(user)
		return user.CheckPassword()
	})
}

// RemoveSMBUser removes an account, named with or without a domain: servers refuse its sessions at once.
func (n *Node) RemoveSMBUser(user string) error {
	return n.changeSMB(fmt.Sprintf("account %q", user), func(s *smb.State) error {
		return changeFound(s.User(user, ""), func(u *smb.User) {
			name := u.Name
			s.Users = slices.DeleteFunc(s.Users, func(o smb.User) bool { return o.Name == name })
		})
	})
}

// DropSMBSessions makes a file server close the node's sessions: open files are lost, and the mappings are disconnected
// until they are used, which makes the session again with its old credentials.
func (n *Node) DropSMBSessions(serverName string) error {
	return n.changeSMB(fmt.Sprintf("file server %q", serverName), func(s *smb.State) error {
		return changeFound(s.Server(serverName), func(o *smb.Server) {
			for i, m := range s.Mappings {
				s.Mappings[i].Dropped = m.Dropped || smb.Key(m.Server) == smb.Key(o.Name)
			}
			n.contents.retire(errShareGone, func(c *content) bool { return c.share.Server == o.Name })
		})
	})
}

// defaultShareBytes is the size of a share of which the scenario says none.
const defaultShareBytes = 1 << 40

func (h *fileHandle) FsInformation(class uint32, out []byte) (err error) {
	defer h.call("NtQueryVolumeInformationFile", &err)()
	if err := h.usable(false); err != nil {
		return err
	}
	if class != win32.FileFsFullSizeInformation || !h.content.isShare() {
		return win32.ERROR_INVALID_PARAMETER // of a volume, its own functions tell more
	}
	const sector = 512
	total, available, free, err := h.content.space()
	if err != nil {
		return err
	}
	return fill(out, cstruct.Encode(win32.FileFsFullSize{
		TotalAllocationUnits:           int64(total / ondisk.ClusterSize),
		CallerAvailableAllocationUnits: int64(available / ondisk.ClusterSize),
		ActualAvailableAllocationUnits: int64(free / ondisk.ClusterSize),
		SectorsPerAllocationUnit:       ondisk.ClusterSize / sector,
		BytesPerSector:                 sector,
	}))
}

// space returns the sizes of a share in bytes, as its server reports them. What is available is free to the caller.
func (c *content) space() (total, available, free uint64, err error) {
	used, err := c.fileBytes(ondisk.ClusterSize)
	spec := c.spec()
	size, quota := uint64(cmp.Or(spec.SizeBytes, defaultShareBytes)), uint64(spec.QuotaBytes)
	free = size - min(used, size)
	if quota == 0 {
		return size, free, free, err
	}
	return min(size, quota), min(free, quota-min(used, quota)), free, err
}
