// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"hash/fnv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// shareName is a share of a file server, as the file server spells it. The zero value is none.
type shareName struct{ server, share string }

func (s shareName) String() string { return s.server + `\` + s.share }

// errShareGone is what handles on a share give whose server or session has gone.
const errShareGone = win32.ERROR_NETNAME_DELETED

// fileSystemOf is the file system that a path starts in, and the path below its root.
func (n *Node) fileSystemOf(p ntPath) (*content, ntPath, error) {
	if !p.unc {
		v, err := n.volumeOf(p)
		if err != nil {
			return nil, p, err
		}
		c, err := n.content(v)
		return c, p, err
	}
	if len(p.names) < 2 {
		return nil, p, win32.ERROR_BAD_NET_NAME
	}
	c, err := n.shareContent(p.names[0], p.names[1])
	p.names = p.names[2:]
	return c, p, err
}

// shareContent connects to a share, or gives the connection that there is.
func (n *Node) shareContent(server, share string) (*content, error) {
	if err := n.state.Load().SMB.reach(server, share); err != nil {
		return nil, err
	}
	if err := n.reconnect(server, share); err != nil {
		return nil, err
	}
	key := smbKey(server) + `\` + smbKey(share)
	c, err := n.openShare(key, server, share)
	if err != nil {
		return nil, err
	}
	if err := n.state.Load().SMB.reach(server, share); err != nil { // it went while this was going on
		n.retireShares()
		return nil, err
	}
	return c, nil
}

func (n *Node) openShare(key, server, share string) (*content, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disks == nil {
		return nil, errRebooted
	}
	if c := n.shares[key]; c != nil {
		return c, nil
	}
	name := shareName{smbKey(server), smbKey(share)}
	if known := n.state.Load().SMB.server(server); known != nil {
		name.server = known.Name
		if s := known.share(share); s != nil {
			name.share = s.Name
		}
	}
	root, err := n.openContentDir(sharePath(n.dir, server, share))
	if err != nil {
		return nil, err
	}
	c := &content{node: n, share: name, root: root}
	n.shares[key] = c
	return c, nil
}

// retireShares ends what is open on shares that are out of reach now. No lock is held by the caller.
func (n *Node) retireShares() {
	s := n.state.Load().SMB
	var gone []*content
	n.mu.Lock()
	for key, c := range n.shares {
		if s.reach(c.share.server, c.share.share) != nil {
			gone = append(gone, c)
			delete(n.shares, key)
		}
	}
	n.mu.Unlock()
	for _, c := range gone {
		c.retire(errShareGone)
	}
}

// takeShares removes and returns all connections; mu is held.
func (n *Node) takeShares() []*content {
	var taken []*content
	for key, c := range n.shares {
		taken = append(taken, c)
		delete(n.shares, key)
	}
	return taken
}

// path is where on the host the files are.
func (c *content) path() string {
	if c.isShare() {
		return sharePath(c.node.dir, c.share.server, c.share.share)
	}
	return contentPath(c.node.dir, c.id)
}

// isShare tells a share's files from a volume's.
func (c *content) isShare() bool { return c.share != shareName{} }

// serial tells the files of one share from those of another, as the serial number of its volume would.
func (s shareName) serial() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.ToLower(s.String()))) // never fails
	return h.Sum64()
}

// finalPath is the path of a file on the share. There is no form of it that names a volume.
func (s shareName) finalPath(form uint32, below string) (string, error) {
	switch form {
	case win32.VOLUME_NAME_DOS:
		return strings.TrimSuffix(verbatimPrefix+`UNC\`+s.String()+`\`+below, `\`), nil
	case win32.VOLUME_NAME_GUID:
		return "", win32.ERROR_PATH_NOT_FOUND
	}
	return "", win32.ERROR_INVALID_PARAMETER
}
