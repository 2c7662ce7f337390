// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// changeSMB changes what the file servers are. The change returns false when what it is for is not there: ErrNoSuchSMB.
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

// SetSMBPassword gives an account, named with or without a domain, another password. Servers refuse the sessions that
// have the old one at once.
func (n *Node) SetSMBPassword(user, password string) error {
	return n.changeSMB(fmt.Sprintf("account %q", user), func(s *smbState) bool {
		u := s.user(user)
		if u != nil {
			u.Verifier = u.verifier(kernel.Secret(password))
		}
		return u != nil
	})
}

// StopSMBServer makes a file server answer no more: every file that is open there is lost. It is idempotent.
func (n *Node) StopSMBServer(name string) error { return n.stopSMBServer(name, true) }

// StartSMBServer makes a file server answer again; mappings of its shares work again by themselves.
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

// AddSMBShare adds a share to a file server, which is made when there is none of the name, and the share's directory. A
// share that is there gets the accounts; none: everybody who has an account. ErrInvalidSMB: a name is impossible, or
// there is no such account.
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
		if err := errors.Join(n.host.step("mkdir"), os.MkdirAll(sharePath(n.dir, serverName, shareName), 0o755)); err != nil {
			return err
		}
		return n.update(func(s *state) { s.SMB = next })
	})
}

// RemoveSMBShare takes a share away, with what is open there. Its files stay, for a share of the same name.
func (n *Node) RemoveSMBShare(serverName, shareName string) error {
	return n.changeSMB(fmt.Sprintf(`share \\%s\%s`, serverName, shareName), func(s *smbState) bool {
		server := s.server(serverName)
		return server != nil && server.drop(shareName)
	})
}

// drop takes a share away, and reports whether it was there.
func (s *SMBServerSpec) drop(share string) bool {
	before := len(s.Shares)
	s.Shares = slices.DeleteFunc(slices.Clone(s.Shares), func(o SMBShareSpec) bool { return smbKey(o.Name) == smbKey(share) })
	return len(s.Shares) < before
}

// AddSMBUser adds an account that all file servers know. ErrInvalidSMB: the name is impossible or taken.
func (n *Node) AddSMBUser(user SMBUserSpec) error {
	return n.control(func() error {
		next := n.state.clone().SMB
		if next.user(user.Name) != nil {
			return fmt.Errorf("account %q is there already: %w", user.Name, ErrInvalidSMB)
		}
		next.Users = append(next.Users, user.state())
		if err := next.check(); err != nil {
			return err
		}
		return n.update(func(s *state) { s.SMB = next })
	})
}

// RemoveSMBUser takes an account away, named with or without a domain: servers refuse its sessions at once.
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

// DropSMBSessions lets a file server close the node's sessions: what is open there is lost, and the mappings are
// disconnected until somebody uses them, which makes the session again with the credentials that it had.
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
