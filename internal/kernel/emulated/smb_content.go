// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"hash/fnv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// shareName is a share of a file server, in the server's spelling. The zero value is none.
type shareName struct{ server, share string }

func (s shareName) String() string { return s.server + `\` + s.share }

// errShareGone is the error of handles on a share whose server or session is gone.
const errShareGone = win32.ERROR_NETNAME_DELETED

// fileSystemOf returns the file system in which a path starts, and the path below its root.
func (n *Node) fileSystemOf(p ntPath) (*content, ntPath, error) {
	if !p.unc {
		v, err := n.volumeOf(p)
		if err != nil {
			return nil, p, err
		}
		c, err := n.content(v, nil)
		return c, p, err
	}
	if len(p.names) < 2 {
		return nil, p, win32.ERROR_BAD_NET_NAME
	}
	c, err := n.shareContent(p.names[0], p.names[1])
	p.names = p.names[2:]
	return c, p, err
}

// shareContent connects to a share, or returns the existing connection. If the server closed the session of a mapping,
// it is made again.
func (n *Node) shareContent(serverName, share string) (*content, error) {
	n.meet(serverName, share)
	if err := n.state.SMB.reach(serverName, share); err != nil {
		return nil, err
	}
	server := n.state.SMB.server(serverName)
	name := shareName{server.Name, server.share(share).Name}
	path := sharePath(n.dir, name.server, name.share)
	if n.state.SMB.mapping(serverName, share).Dropped {
		if err := n.update(func(s *state) {
			m := s.SMB.mapping(serverName, share)
			m.Dropped = false
			if s.Switches.MappingStatusDelayed {
				m.Late = 3
			}
		}); err != nil {
			return nil, err
		}
	}
	return n.mount(content{share: name, path: path})
}

// isShare reports whether the files are a share's, not a volume's.
func (c *content) isShare() bool { return c.share != shareName{} }

// closedRoot reports whether the root directory may not be opened, as on shares whose users may see only their folders.
func (c *content) closedRoot() bool {
	server := c.node.state.SMB.server(c.share.server)
	if server == nil {
		return false
	}
	share := server.share(c.share.share)
	return share != nil && share.ClosedRoot
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
		return strings.TrimSuffix(verbatimPrefix+`UNC\`+s.String()+`\`+below, `\`), nil
	case win32.VOLUME_NAME_GUID:
		return "", win32.ERROR_PATH_NOT_FOUND
	case win32.VOLUME_NAME_NT:
		return strings.TrimSuffix(devicePrefix+`Mup\`+s.String()+`\`+below, `\`), nil
	}
	return "", win32.ERROR_INVALID_PARAMETER
}
