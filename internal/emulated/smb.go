// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
)

// SMBGlobalMappings implements kernel.SMB.
func (n *Node) SMBGlobalMappings() (mappings []kernel.SMBGlobalMapping, err error) {
	err = n.call("MSFT_SmbGlobalMapping", "", func() error {
		for i := range n.state.SMB.Mappings {
			m := &n.state.SMB.Mappings[i]
			mapping := kernel.SMBGlobalMapping{RemotePath: `\\` + m.Server + `\` + m.Share, Status: win32.SMB_MAPPING_OK}
			if server := n.state.SMB.server(m.Server); server == nil || server.Stopped || m.Dropped || m.Bare {
				mapping.Status = win32.SMB_MAPPING_DISCONNECTED
			}
			mappings = append(mappings, mapping)
		}
		return nil
	})
	return mappings, err
}

// CreateSMBGlobalMapping implements kernel.SMB. The client looks for a conflict with its mappings before it logs on. If
// encryption is required, a server that cannot encrypt is ERROR_NOT_SUPPORTED. Windows' code for this is not confirmed,
// nor when it returns ERROR_INVALID_PASSWORD and when ERROR_LOGON_FAILURE.
func (n *Node) CreateSMBGlobalMapping(remotePath, userName string, password kernel.Secret, requirePrivacy bool) error {
	return n.call("MSFT_SmbGlobalMapping.Create", remotePath, func() error {
		server, share, err := parseRemotePath(remotePath)
		if err != nil {
			return err
		}
		m, err := n.state.SMB.connect(server, share, userName, password, requirePrivacy)
		if err != nil {
			return err
		}
		return n.update(func(s *state) { s.SMB.Mappings = append(s.SMB.Mappings, m) })
	})
}

// parseRemotePath parses \\server\share; a folder below a share cannot be mapped.
func parseRemotePath(path string) (server, share string, err error) {
	rest, ok := strings.CutPrefix(path, `\\`)
	server, share, _ = strings.Cut(rest, `\`)
	if !ok || !hostfiles.IsFileName(server) || !hostfiles.IsFileName(share) {
		return "", "", win32.ERROR_INVALID_PARAMETER
	}
	return server, share, nil
}

// connect returns a new mapping with its session.
func (s *smbState) connect(serverName, shareName, userName string, password kernel.Secret,
	requirePrivacy bool) (m smbMappingState, err error) {
	server := s.server(serverName)
	if server == nil || server.Stopped {
		return m, win32.ERROR_BAD_NETPATH
	}
	for _, other := range s.Mappings {
		switch {
		case smbKey(other.Server) != smbKey(serverName):
		case other.Bare && !other.of(serverName, shareName): // whether it is in the way is not known
		case other.Bare:
			return m, win32.ERROR_SESSION_CREDENTIAL_CONFLICT // https://github.com/kubernetes-csi/csi-driver-smb/issues/219
		case smbKey(other.User) != smbKey(userName):
			return m, win32.ERROR_SESSION_CREDENTIAL_CONFLICT
		case other.of(serverName, shareName):
			return m, win32.ERROR_GEN_FAILURE // WBEM_E_FAILED: kubernetes/kubernetes#73087, Azure/aksArc#111
		}
	}
	if requirePrivacy && server.NoEncryption {
		return m, win32.ERROR_NOT_SUPPORTED
	}
	user := s.user(userName, serverName)
	if user == nil {
		return m, win32.ERROR_LOGON_FAILURE
	}
	m = smbMappingState{Server: serverName, Share: shareName, User: userName, Verifier: user.verifier(password)}
	if !bytes.Equal(m.Verifier, user.Verifier) {
		return m, win32.ERROR_INVALID_PASSWORD
	}
	return m, server.admits(user, shareName)
}

// meet takes notice that the node comes to a file server for a share. Without a mapping the server is shown the account
// of the node's computer.
func (n *Node) meet(serverName, shareName string) {
	server := n.state.SMB.server(serverName)
	if server != nil && !server.Stopped && n.state.SMB.mapping(serverName, shareName) == nil {
		n.unmapped++
	}
}

// SMBContactsWithoutMapping returns how often the node came to a file server for a share that was not mapped, and
// showed it the account of its computer, since the process began.
func (n *Node) SMBContactsWithoutMapping() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unmapped
}

// connectable returns nil if the node can reach a share now, else the error of opening a file there. Without a mapping
// the node logs on by its computer's account, which the servers here do not know.
// https://learn.microsoft.com/windows/win32/services/localsystem-account
func (s *smbState) connectable(serverName, shareName string) error {
	server := s.server(serverName)
	if server == nil || server.Stopped {
		return win32.ERROR_BAD_NETPATH
	}
	m := s.mapping(serverName, shareName)
	if m == nil {
		return win32.ERROR_LOGON_FAILURE
	}
	if m.Bare { // https://github.com/kubernetes-csi/csi-driver-smb/issues/733
		return win32.ERROR_ACCESS_DENIED
	}
	user := s.user(m.User, serverName)
	if user == nil || !bytes.Equal(m.Verifier, user.Verifier) {
		return win32.ERROR_LOGON_FAILURE
	}
	return server.admits(user, shareName)
}

// admits returns nil if an account may use a share, else the reason why not.
func (s *SMBServerSpec) admits(u *smbUserState, shareName string) error {
	share := s.share(shareName)
	if share == nil {
		return win32.ERROR_BAD_NET_NAME
	}
	if len(share.Users) > 0 && !slices.ContainsFunc(share.Users,
		func(name string) bool { return smbKey(name) == smbKey(u.Name) }) {
		return win32.ERROR_ACCESS_DENIED
	}
	return nil
}

// RemoveSMBGlobalMapping implements kernel.SMB. It does not ask the server.
func (n *Node) RemoveSMBGlobalMapping(remotePath string) error {
	return n.call("MSFT_SmbGlobalMapping.Remove", remotePath, func() error {
		server, share, err := parseRemotePath(remotePath)
		if err != nil {
			return err
		}
		if n.state.SMB.mapping(server, share) == nil {
			return win32.ERROR_NOT_CONNECTED
		}
		defer n.retireGone()
		return n.update(func(s *state) {
			s.SMB.Mappings = slices.DeleteFunc(s.SMB.Mappings, func(m smbMappingState) bool { return m.of(server, share) })
		})
	})
}

// shareName is a share of a file server, in the server's spelling. The zero value is none.
type shareName struct{ server, share string }

func (s shareName) String() string { return s.server + `\` + s.share }

// errShareGone is the error of handles on a share whose server or session is gone.
const errShareGone = win32.ERROR_NETNAME_DELETED

// fileSystemOf returns the file system in which a path starts, and the path below its root.
func (n *Node) fileSystemOf(p ntpath.Path) (*content, ntpath.Path, error) {
	if !p.UNC {
		v, err := n.volumeOf(p)
		if err != nil {
			return nil, p, err
		}
		c, err := n.content(v, nil)
		return c, p, err
	}
	if len(p.Names) < 2 {
		return nil, p, win32.ERROR_BAD_NET_NAME
	}
	c, err := n.shareContent(p.Names[0], p.Names[1])
	p.Names = p.Names[2:]
	return c, p, err
}

// shareContent connects to a share, or returns the existing connection. If the server closed the session of a mapping,
// it is made again.
func (n *Node) shareContent(serverName, share string) (*content, error) {
	n.meet(serverName, share)
	if err := n.state.SMB.connectable(serverName, share); err != nil {
		return nil, err
	}
	server := n.state.SMB.server(serverName)
	name := shareName{server.Name, server.share(share).Name}
	path := sharePath(n.dir, name.server, name.share)
	if n.state.SMB.mapping(serverName, share).Dropped {
		if err := n.update(func(s *state) { s.SMB.mapping(serverName, share).Dropped = false }); err != nil {
			return nil, err
		}
	}
	return n.mount(content{share: name, path: path})
}

// isShare reports whether the files are a share's, not a volume's.
func (c *content) isShare() bool { return c.share != shareName{} }

// spec returns the share as its server has it; the zero value is that of a volume, or of a share that was removed.
func (c *content) spec() (spec SMBShareSpec) {
	if server := c.node.state.SMB.server(c.share.server); server != nil {
		if share := server.share(c.share.share); share != nil {
			spec = *share
		}
	}
	return spec
}

// serial returns a number that distinguishes shares, as the serial number of a volume would.
func (s shareName) serial() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.ToLower(s.String()))) // never fails
	return h.Sum64()
}

// finalPath returns the path of a file on the share. It has no form with a volume name.
func (s shareName) finalPath(form uint32, below string) (string, error) {
	switch form {
	case win32.VOLUME_NAME_DOS:
		return strings.TrimSuffix(ntpath.VerbatimPrefix+`UNC\`+s.String()+`\`+below, `\`), nil
	case win32.VOLUME_NAME_GUID:
		return "", win32.ERROR_PATH_NOT_FOUND
	}
	return "", win32.ERROR_INVALID_PARAMETER
}
