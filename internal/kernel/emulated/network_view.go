// SPDX-License-Identifier: Apache-2.0

package emulated

// A FileServer is a file server that the node can reach, as its control sees it.
type FileServer struct {
	Name    string   `json:"name"`
	Shares  []string `json:"shares"`
	Stopped bool     `json:"stopped"`
}

// FileServers returns the file servers, in the node's order.
func (n *Node) FileServers() []FileServer {
	n.mu.Lock()
	defer n.mu.Unlock()
	servers := []FileServer{}
	for _, s := range n.state.SMB.Servers {
		server := FileServer{Name: s.Name, Shares: []string{}, Stopped: s.Stopped}
		for _, share := range s.Shares {
			server.Shares = append(server.Shares, share.Name)
		}
		servers = append(servers, server)
	}
	return servers
}

// An ISCSIPortal is an address at which a storage system answers, as the node's control sees it.
type ISCSIPortal struct {
	Address   string   `json:"address"`
	Port      uint16   `json:"port"`
	Connected bool     `json:"connected"`
	Targets   []string `json:"targets"`
}

// ISCSIPortals returns the portals, in the node's order.
func (n *Node) ISCSIPortals() []ISCSIPortal {
	n.mu.Lock()
	defer n.mu.Unlock()
	portals := []ISCSIPortal{}
	for _, p := range n.state.ISCSI.Storage {
		portal := ISCSIPortal{Address: p.At.Address, Port: p.At.Port,
			Connected: n.state.ISCSI.outage(p.At) == nil, Targets: []string{}}
		for _, t := range p.Targets {
			portal.Targets = append(portal.Targets, t.Name)
		}
		portals = append(portals, portal)
	}
	return portals
}
