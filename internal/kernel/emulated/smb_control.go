// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
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
		u := s.user(user)
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
		if err := n.host.mkdirAll(sharePath(n.dir, serverName, shareName), 0o755); err != nil {
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
		if next.user(user.Name) != nil {
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
		u := s.user(user)
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
