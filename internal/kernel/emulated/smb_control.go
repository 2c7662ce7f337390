// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// AddSMBShare adds a share to a file server, which is made when there is none of the name, and the share's directory. A
// share that is there gets the accounts; none: everybody who has an account. ErrInvalidSMB: a name is impossible, or
// there is no such account.
func (n *Node) AddSMBShare(serverName, shareName string, users []string) error {
	if !isFileName(serverName) || !isFileName(shareName) || isReserved(shareName) {
		return fmt.Errorf(`share \\%s\%s: %w`, serverName, shareName, ErrInvalidSMB)
	}
	s := n.state.Load().SMB
	for _, name := range users {
		if u := s.user(name); u == nil || smbKey(u.Name) != smbKey(name) {
			return fmt.Errorf(`share \\%s\%s is for the account %q, which is not there: %w`, serverName, shareName, name, ErrInvalidSMB)
		}
	}
	if err := errors.Join(n.host.step("mkdir"), os.MkdirAll(sharePath(n.dir, serverName, shareName), 0o755)); err != nil {
		return err
	}
	err := n.update(func(s *state) {
		if s.SMB.server(serverName) == nil {
			s.SMB.Servers = append(s.SMB.Servers, smbServerState{Name: serverName})
		}
		server := s.SMB.server(serverName)
		share := smbShareState{Name: shareName, Users: slices.Clone(users)}
		server.Shares = slices.DeleteFunc(slices.Clone(server.Shares), func(o smbShareState) bool { return smbKey(o.Name) == smbKey(shareName) })
		server.Shares = append(server.Shares, share)
	})
	n.retireShares()
	return err
}

// RemoveSMBShare takes a share away, with what is open there. Its files stay, for a share of the same name.
func (n *Node) RemoveSMBShare(serverName, shareName string) error {
	known := false
	err := n.update(func(s *state) {
		server := s.SMB.server(serverName)
		if server == nil || server.share(shareName) == nil {
			return
		}
		known = true
		server.Shares = slices.DeleteFunc(slices.Clone(server.Shares), func(o smbShareState) bool { return smbKey(o.Name) == smbKey(shareName) })
	})
	n.retireShares()
	if err == nil && !known {
		return fmt.Errorf(`share \\%s\%s: %w`, serverName, shareName, ErrNoSuchSMB)
	}
	return err
}

// AddSMBUser adds an account that all file servers know. ErrInvalidSMB: the name is impossible or taken.
func (n *Node) AddSMBUser(user SMBUserSpec) error {
	made, err := newSMBState(nil, []SMBUserSpec{user})
	if err != nil {
		return err
	}
	taken := false
	err = n.update(func(s *state) {
		if taken = s.SMB.user(user.Name) != nil; !taken {
			s.SMB.Users = append(s.SMB.Users, made.Users...)
		}
	})
	if err == nil && taken {
		return fmt.Errorf("account %q is there already: %w", user.Name, ErrInvalidSMB)
	}
	return err
}

// RemoveSMBUser takes an account away, named with or without a domain: servers refuse its sessions at once.
func (n *Node) RemoveSMBUser(user string) error {
	known := false
	err := n.update(func(s *state) {
		if u := s.SMB.user(user); u != nil {
			known = true
			name := smbKey(u.Name)
			s.SMB.Users = slices.DeleteFunc(s.SMB.Users, func(o smbUserState) bool { return smbKey(o.Name) == name })
		}
	})
	n.retireShares()
	if err == nil && !known {
		return fmt.Errorf("account %q: %w", user, ErrNoSuchSMB)
	}
	return err
}

// DropSMBSessions lets a file server close the node's sessions: what is open there is lost, and the mappings are
// disconnected until somebody uses them, which makes the session again with the credentials that it had.
func (n *Node) DropSMBSessions(serverName string) error {
	known := false
	err := n.update(func(s *state) {
		known = s.SMB.server(serverName) != nil
		for i := range s.SMB.Mappings {
			if smbKey(s.SMB.Mappings[i].Server) == smbKey(serverName) {
				s.SMB.Mappings[i].Dropped = true
			}
		}
	})
	if err == nil && !known {
		return fmt.Errorf("file server %q: %w", serverName, ErrNoSuchSMB)
	}
	n.mu.Lock()
	var gone []*content
	for key, c := range n.shares {
		if smbKey(c.share.server) == smbKey(serverName) {
			gone = append(gone, c)
			delete(n.shares, key)
		}
	}
	n.mu.Unlock()
	for _, c := range gone {
		c.retire(errShareGone)
	}
	return err
}

// reconnect makes the session of a mapping again that the server closed.
func (n *Node) reconnect(server, share string) error {
	s := n.state.Load().SMB
	if m := s.mapping(server, share); m == nil || !m.Dropped {
		return nil
	}
	return n.update(func(s *state) {
		if m := s.SMB.mapping(server, share); m != nil {
			m.Dropped = false
		}
	})
}
