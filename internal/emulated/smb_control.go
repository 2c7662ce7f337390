// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// Network returns the file servers, the portals of storage systems, and which of those are cut off.
func (n *Node) Network() (servers []SMBServerSpec, portals []ISCSIPortalSpec, isCut []bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.state.ISCSI.Storage {
		isCut = append(isCut, n.state.ISCSI.outage(p.At) != nil)
	}
	return slices.Clone(n.state.SMB.Servers), n.state.ISCSI.Storage, isCut
}

// changeSMB changes the file servers. If the change returns false, its object does not exist: ErrNoSuchSMB.
func (n *Node) changeSMB(what string, change func(*smbState) bool) error {
	return n.control(func() error {
		known := false
		if err := n.update(func(s *state) { known = change(&s.SMB) }); err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("%s: %w", what, ErrNoSuchSMB)
		}
		return nil
	})
}

// SetSMBPassword changes the password of an account, named with or without a domain. Servers refuse sessions with the
// old password at once.
func (n *Node) SetSMBPassword(user, password string) error {
	return n.changeSMB(fmt.Sprintf("account %q", user), func(s *smbState) bool {
		u := s.user(user, "")
		if u != nil {
			u.Verifier = u.verifier(kernel.Secret(password))
		}
		return u != nil
	})
}

// StopSMBServer stops a file server: every file that is open there is lost. It is idempotent.
func (n *Node) StopSMBServer(name string) error { return n.stopSMBServer(name, true) }

// StartSMBServer starts a file server again; mappings of its shares work again by themselves.
func (n *Node) StartSMBServer(name string) error { return n.stopSMBServer(name, false) }

func (n *Node) stopSMBServer(name string, stopped bool) error {
	return n.changeSMB(fmt.Sprintf("file server %q", name), func(s *smbState) bool {
		server := s.server(name)
		if server != nil {
			server.Stopped = stopped
		}
		return server != nil
	})
}

// AddSMBShare adds a share to a file server, with its directory, and the server if there is none of the name. An
// existing share gets the accounts; without accounts, all may use it. ErrInvalidSMB: a name is not valid, or there is
// no such account.
func (n *Node) AddSMBShare(serverName, shareName string, users []string) error {
	return n.control(func() error {
		next := n.state.clone().SMB
		if next.server(serverName) == nil {
			next.Servers = append(next.Servers, SMBServerSpec{Name: serverName})
		}
		server := next.server(serverName)
		server.drop(shareName)
		server.Shares = append(server.Shares, SMBShareSpec{Name: shareName, Users: slices.Clone(users)})
		err := next.check()
		if err == nil {
			err = next.checkUsers(users)
		}
		if err != nil {
			return fmt.Errorf(`share \\%s\%s: %w`, serverName, shareName, err)
		}
		if err := n.host.MkdirAll(sharePath(n.dir, serverName, shareName), 0o755); err != nil {
			return err
		}
		return n.update(func(s *state) { s.SMB = next })
	})
}

// RemoveSMBShare removes a share, whatever is open there. Its files stay, for a share of the same name.
func (n *Node) RemoveSMBShare(serverName, shareName string) error {
	return n.changeSMB(fmt.Sprintf(`share \\%s\%s`, serverName, shareName), func(s *smbState) bool {
		server := s.server(serverName)
		return server != nil && server.drop(shareName)
	})
}

// drop removes a share, and reports whether it existed.
func (s *SMBServerSpec) drop(share string) bool {
	before := len(s.Shares)
	s.Shares = slices.DeleteFunc(slices.Clone(s.Shares),
		func(o SMBShareSpec) bool { return smbKey(o.Name) == smbKey(share) })
	return len(s.Shares) < before
}

// AddSMBUser adds an account to all file servers. ErrInvalidSMB: the name is not valid or is taken.
func (n *Node) AddSMBUser(user SMBUserSpec) error {
	return n.control(func() error {
		next := n.state.clone().SMB
		if next.user(user.Name, "") != nil {
			return fmt.Errorf("account %q exists already: %w", user.Name, ErrInvalidSMB)
		}
		next.Users = append(next.Users, user.state())
		if err := next.check(); err != nil {
			return err
		}
		return n.update(func(s *state) { s.SMB = next })
	})
}

// RemoveSMBUser removes an account, named with or without a domain: servers refuse its sessions at once.
func (n *Node) RemoveSMBUser(user string) error {
	return n.changeSMB(fmt.Sprintf("account %q", user), func(s *smbState) bool {
		u := s.user(user, "")
		if u == nil {
			return false
		}
		s.Users = slices.DeleteFunc(s.Users, func(o smbUserState) bool { return smbKey(o.Name) == smbKey(u.Name) })
		return true
	})
}

// DropSMBSessions makes a file server close the node's sessions: open files are lost, and the mappings are disconnected
// until they are used, which makes the session again with its old credentials.
func (n *Node) DropSMBSessions(serverName string) error {
	return n.changeSMB(fmt.Sprintf("file server %q", serverName), func(s *smbState) bool {
		for i := range s.Mappings {
			if smbKey(s.Mappings[i].Server) == smbKey(serverName) {
				s.Mappings[i].Dropped = true
			}
		}
		n.retire(errShareGone, func(c *content) bool { return c.isShare() && smbKey(c.share.server) == smbKey(serverName) })
		return s.server(serverName) != nil
	})
}

// defaultShareBytes is the size of a share of which the scenario says none.
const defaultShareBytes = 1 << 40

// FsInformation implements kernel.Handle.
func (h *fileHandle) FsInformation(class uint32, out []byte) error {
	return h.using("NtQueryVolumeInformationFile", false, func() error {
		if class != win32.FileFsFullSizeInformation {
			return win32.ERROR_INVALID_PARAMETER
		}
		size, err := h.content.fullSize()
		if err != nil {
			return err
		}
		return fill(out, cstruct.Encode(size))
	})
}

// FsInformation implements kernel.Handle.
func (h *device) FsInformation(uint32, []byte) error {
	return failed("NtQueryVolumeInformationFile", h.object, win32.ERROR_INVALID_PARAMETER)
}

// fullSize returns the sizes of a file system: of a volume, or of a share as its server reports them.
func (c *content) fullSize() (win32.FileFsFullSize, error) {
	const sector = 512
	in := func(total, available, free uint64) win32.FileFsFullSize {
		return win32.FileFsFullSize{
			TotalAllocationUnits:           int64(total / ondisk.ClusterSize),
			CallerAvailableAllocationUnits: int64(available / ondisk.ClusterSize),
			ActualAvailableAllocationUnits: int64(free / ondisk.ClusterSize),
			SectorsPerAllocationUnit:       ondisk.ClusterSize / sector,
			BytesPerSector:                 sector,
		}
	}
	if !c.isShare() {
		v, ok := c.node.volume(c.id)
		if !ok {
			return win32.FileFsFullSize{}, errVolumeGone
		}
		total, free, err := c.node.space(v, nil)
		return in(total, free, free), err
	}
	used, err := c.fileBytes(ondisk.ClusterSize)
	if err != nil {
		return win32.FileFsFullSize{}, err
	}
	spec := c.spec()
	size, quota := uint64(cmp.Or(spec.SizeBytes, defaultShareBytes)), uint64(spec.QuotaBytes)
	free := size - min(used, size)
	if quota == 0 {
		return in(size, free, free), nil
	}
	return in(min(size, quota), min(free, quota-min(used, quota)), free), nil
}

// SetSMBShareSpace sets the size of a share and the quota of each account there, in bytes; 0: the default, and none. It
// keeps no file from being written. ErrInvalidSMB: more than 16 TiB, or less than nothing.
func (n *Node) SetSMBShareSpace(serverName, shareName string, size, quota int64) error {
	what := fmt.Sprintf(`share \\%s\%s`, serverName, shareName)
	wanted := SMBShareSpec{Name: shareName, SizeBytes: setting.Size(size), QuotaBytes: setting.Size(quota)}
	if err := wanted.checkSpace(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return n.changeSMB(what, func(s *smbState) bool {
		server := s.server(serverName)
		if server == nil || server.share(shareName) == nil {
			return false
		}
		share := *server.share(shareName)
		share.SizeBytes, share.QuotaBytes = wanted.SizeBytes, wanted.QuotaBytes
		server.drop(shareName) // which copies the list
		server.Shares = append(server.Shares, share)
		return true
	})
}

// checkSpace refuses impossible sizes. ErrInvalidSMB.
func (s *SMBShareSpec) checkSpace() error {
	for name, bytes := range map[string]setting.Size{"size": s.SizeBytes, "quota": s.QuotaBytes} {
		if bytes < 0 || bytes > setting.MaxSize {
			return fmt.Errorf("%w: share %q has the %s %d; it must be at most 16 TiB", ErrInvalidSMB, s.Name, name, bytes)
		}
	}
	return nil
}
