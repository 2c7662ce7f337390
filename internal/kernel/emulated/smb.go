// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// SMBGlobalMappings implements kernel.SMB.
func (n *Node) SMBGlobalMappings() ([]kernel.SMBGlobalMapping, error) {
	s := n.state.Load().SMB
	var mappings []kernel.SMBGlobalMapping
	for _, m := range s.Mappings {
		mapping := kernel.SMBGlobalMapping{RemotePath: `\\` + m.Server + `\` + m.Share, Status: win32.SMB_MAPPING_OK}
		if server := s.server(m.Server); server == nil || server.Stopped || m.Dropped {
			mapping.Status = win32.SMB_MAPPING_DISCONNECTED
		}
		mappings = append(mappings, mapping)
	}
	return mappings, nil
}

// CreateSMBGlobalMapping implements kernel.SMB. The client looks for a conflict with what it has before it logs on. A
// server that cannot encrypt is ERROR_NOT_SUPPORTED where encryption is wanted; what Windows gives there is not
// confirmed, nor is which of ERROR_INVALID_PASSWORD and ERROR_LOGON_FAILURE it gives when.
func (n *Node) CreateSMBGlobalMapping(remotePath, userName string, password kernel.Secret, requirePrivacy bool) error {
	server, share, err := parseRemotePath(remotePath)
	if err == nil {
		var refused error
		err = n.update(func(s *state) { refused = s.SMB.connect(server, share, userName, password, requirePrivacy) })
		if refused != nil {
			err = refused
		}
	}
	return failed("MSFT_SmbGlobalMapping.Create", remotePath, err)
}

// parseRemotePath reads \\server\share; a folder below a share cannot be mapped.
func parseRemotePath(path string) (server, share string, err error) {
	rest, ok := strings.CutPrefix(path, `\\`)
	server, share, _ = strings.Cut(rest, `\`)
	if !ok || !isFileName(server) || !isFileName(share) {
		return "", "", win32.ERROR_INVALID_PARAMETER
	}
	return server, share, nil
}

// connect adds a mapping, or changes nothing and says why.
func (s *smbState) connect(serverName, shareName, userName string, password kernel.Secret, requirePrivacy bool) error {
	server := s.server(serverName)
	if server == nil || server.Stopped {
		return win32.ERROR_BAD_NETPATH
	}
	for _, m := range s.Mappings {
		switch same := smbKey(m.User) == smbKey(userName); {
		case smbKey(m.Server) != smbKey(serverName):
		case !same:
			return win32.ERROR_SESSION_CREDENTIAL_CONFLICT
		case m.of(serverName, shareName):
			return win32.ERROR_ALREADY_ASSIGNED
		}
	}
	if requirePrivacy && server.NoEncryption {
		return win32.ERROR_NOT_SUPPORTED
	}
	user := s.user(userName)
	if user == nil {
		return win32.ERROR_LOGON_FAILURE
	}
	m := smbMappingState{Server: serverName, Share: shareName, User: userName, Verifier: user.verifier(password)}
	if !bytes.Equal(m.Verifier, user.Verifier) {
		return win32.ERROR_INVALID_PASSWORD
	}
	share := server.share(shareName)
	if share == nil {
		return win32.ERROR_BAD_NET_NAME
	}
	if !share.allows(user) {
		return win32.ERROR_ACCESS_DENIED
	}
	s.Mappings = append(s.Mappings, m)
	return nil
}

// reach tells whether the node gets at a share now: nil, or the code that opening a file there gives. Without a mapping
// the node itself logs on, by its computer's account, which the servers here do not know.
// https://learn.microsoft.com/windows/win32/services/localsystem-account
func (s *smbState) reach(serverName, shareName string) error {
	server := s.server(serverName)
	if server == nil || server.Stopped {
		return win32.ERROR_BAD_NETPATH
	}
	m := s.mapping(serverName, shareName)
	if m == nil {
		return win32.ERROR_LOGON_FAILURE
	}
	user := s.user(m.User)
	if user == nil || !bytes.Equal(m.Verifier, user.Verifier) {
		return win32.ERROR_LOGON_FAILURE
	}
	share := server.share(shareName)
	if share == nil {
		return win32.ERROR_BAD_NET_NAME
	}
	if !share.allows(user) {
		return win32.ERROR_ACCESS_DENIED
	}
	return nil
}

// RemoveSMBGlobalMapping implements kernel.SMB. It does not ask the server.
func (n *Node) RemoveSMBGlobalMapping(remotePath string) error {
	const function = "MSFT_SmbGlobalMapping.Remove"
	server, share, err := parseRemotePath(remotePath)
	if err != nil {
		return failed(function, remotePath, err)
	}
	found := false
	err = n.update(func(s *state) {
		before := len(s.SMB.Mappings)
		s.SMB.Mappings = slices.DeleteFunc(s.SMB.Mappings, func(m smbMappingState) bool { return m.of(server, share) })
		found = len(s.SMB.Mappings) < before
	})
	if err == nil && !found {
		err = win32.ERROR_NOT_CONNECTED
	}
	n.retireShares()
	return failed(function, remotePath, err)
}

// SetSMBPassword gives an account, named with or without a domain, another password. Servers refuse the sessions that
// have the old one at once.
func (n *Node) SetSMBPassword(user, password string) error {
	known := false
	err := n.update(func(s *state) {
		if u := s.SMB.user(user); u != nil {
			known = true
			u.Verifier = u.verifier(kernel.Secret(password))
		}
	})
	n.retireShares()
	if err == nil && !known {
		return fmt.Errorf("account %q: %w", user, ErrNoSuchSMB)
	}
	return err
}

// StopSMBServer makes a file server answer no more: every file that is open there is lost. It is idempotent.
func (n *Node) StopSMBServer(name string) error { return n.setServer(name, true) }

// StartSMBServer makes a file server answer again; mappings of its shares work again by themselves.
func (n *Node) StartSMBServer(name string) error { return n.setServer(name, false) }

func (n *Node) setServer(name string, stopped bool) error {
	known := false
	err := n.update(func(s *state) {
		if server := s.SMB.server(name); server != nil {
			known = true
			server.Stopped = stopped
		}
	})
	n.retireShares()
	if err == nil && !known {
		return fmt.Errorf("file server %q: %w", name, ErrNoSuchSMB)
	}
	return err
}

// rebootSMB forgets the mappings: those that are made as ours are do not persist.
func (n *Node) rebootSMB() error {
	if len(n.state.Load().SMB.Mappings) == 0 {
		return nil
	}
	return n.update(func(s *state) { s.SMB.Mappings = nil })
}
