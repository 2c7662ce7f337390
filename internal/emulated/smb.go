// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// SMBGlobalMappings implements kernel.SMB.
func (n *Node) SMBGlobalMappings() (mappings []kernel.SMBGlobalMapping, err error) {
	defer n.call("MSFT_SmbGlobalMapping", "", &err)()
	for _, m := range n.state.SMB.Mappings {
		mapping := kernel.SMBGlobalMapping{RemotePath: `\\` + m.Server + `\` + m.Share, Status: win32.SMB_MAPPING_OK}
		if server := n.state.SMB.Server(m.Server); server == nil || server.Stopped || m.Dropped || m.Bare {
			mapping.Status = win32.SMB_MAPPING_DISCONNECTED
		}
		mappings = append(mappings, mapping)
	}
	return mappings, nil
}

// CreateSMBGlobalMapping implements kernel.SMB. The client looks for a conflict with its mappings before it logs on. If
// encryption is required, a server that cannot encrypt is ERROR_NOT_SUPPORTED. Windows' code for this is not confirmed,
// nor when it returns ERROR_INVALID_PASSWORD and when ERROR_LOGON_FAILURE. The Workstation service runs in a scenario
// that lacks it.
func (n *Node) CreateSMBGlobalMapping(remotePath, userName string, password kernel.Secret,
	requirePrivacy bool) (err error) {
	defer n.call("MSFT_SmbGlobalMapping.Create", remotePath, &err)()
	server, share, err := smb.ParseRemotePath(remotePath)
	if err != nil {
		return err
	}
	service := n.state.Services.Find("LanmanWorkstation")
	if service != nil && service.State != win32.SERVICE_RUNNING {
		return win32.NERR_WkstaNotStarted
	}
	m, err := n.state.SMB.Connect(server, share, userName, password, requirePrivacy)
	if err != nil {
		return err
	}
	return n.update(func(s *state) { s.SMB.Mappings = append(s.SMB.Mappings, m) })
}

// meet takes notice that the node comes to a file server for a share. Without a mapping the server is shown the account
// of the node's computer.
func (n *Node) meet(serverName, shareName string) {
	server := n.state.SMB.Server(serverName)
	if server != nil && !server.Stopped && n.state.SMB.Mapping(serverName, shareName) == nil {
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

// RemoveSMBGlobalMapping implements kernel.SMB. It does not ask the server.
func (n *Node) RemoveSMBGlobalMapping(remotePath string) (err error) {
	defer n.call("MSFT_SmbGlobalMapping.Remove", remotePath, &err)()
	server, share, err := smb.ParseRemotePath(remotePath)
	if err != nil {
		return err
	}
	if n.state.SMB.Mapping(server, share) == nil {
		return win32.ERROR_NOT_CONNECTED
	}
	defer n.retireGone()
	return n.update(func(s *state) {
		s.SMB.Mappings = slices.DeleteFunc(s.SMB.Mappings, func(m smb.Mapping) bool { return m.Of(server, share) })
	})
}

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
	if err := n.state.SMB.Connectable(serverName, share); err != nil {
		return nil, err
	}
	server := n.state.SMB.Server(serverName)
	name := smb.ShareName{Server: server.Name, Share: server.Share(share).Name}
	path := smb.SharePath(n.dir, name.Server, name.Share)
	if n.state.SMB.Mapping(serverName, share).Dropped {
		if err := n.update(func(s *state) { s.SMB.Mapping(serverName, share).Dropped = false }); err != nil {
			return nil, err
		}
	}
	return n.mount(content{share: name, path: path})
}

// isShare reports whether the files are a share's, not a volume's.
func (c *content) isShare() bool { return c.share != smb.ShareName{} }

// spec returns the share as its server has it; the zero value is that of a volume, or of a share that was removed.
func (c *content) spec() (spec smb.Share) {
	if share := c.node.state.SMB.Share(c.share.Server, c.share.Share); share != nil {
		spec = *share
	}
	return spec
}
