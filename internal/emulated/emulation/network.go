// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// fileServer is a file server in a document, as in scenario files but for whether it is stopped now.
type fileServer struct {
	smb.Server `yaml:",inline"`
	Stopped    bool `yaml:"stopped"`
}

// portal is an iSCSI portal in a document, as in scenario files but for whether the node reaches it now.
type portal struct {
	iscsi.Portal `yaml:",inline"`
	Connected    bool `yaml:"connected"`
}

// smbSession is the session of the node with a file server.
type smbSession struct {
	Server string `yaml:"server"`
}

// iscsiSession is the session of the node with a target.
type iscsiSession struct {
	Target string `yaml:"target"`
}

// Network returns the file servers, with the names of their shares, and the portals, with those of their targets.
func Network(n *emulated.Node) (files, storage []any) {
	files, storage = []any{}, []any{}
	servers, portals, isCut := n.Network()
	for _, s := range servers {
		shares := []any{}
		for _, share := range s.Shares {
			shares = append(shares, share.Name)
		}
		files = append(files, map[string]any{"name": s.Name, "shares": shares, "stopped": s.Stopped})
	}
	for i, p := range portals {
		targets := []any{}
		for _, t := range p.Targets {
			targets = append(targets, t.Name)
		}
		storage = append(storage, map[string]any{"address": p.At.Address, "port": uint32(p.At.Port),
			"connected": !isCut[i], "targets": targets})
	}
	return files, storage
}

// users returns the accounts of the file servers.
func users(n *emulated.Node) []any {
	list := []any{}
	for _, u := range n.SMBUsers() {
		domains := []any{}
		for _, d := range u.Domains {
			domains = append(domains, d)
		}
		list = append(list, map[string]any{"name": u.Name, "domains": domains})
	}
	return list
}

// done is what a step of each does for a key that another step uses.
func done() error { return nil }

func (d *document) addUser(i int) (any, error) {
	return map[string]any{"name": d.SMBUsers[i].Name}, d.node.AddSMBUser(d.SMBUsers[i])
}

func (d *document) changeUser(i int) (any, error) {
	user := d.SMBUsers[i]
	return nil, d.each(user, map[string]func() error{
		"name":     nil,
		"password": func() error { return d.node.SetSMBPassword(user.Name, user.Password) },
	}, "smbUsers", i)
}

func (d *document) removeUser(i int) (any, error) {
	user := d.SMBUsers[i]
	if err := d.each(user, map[string]func() error{"name": nil}, "smbUsers", i); err != nil {
		return nil, err
	}
	return map[string]any{"name": user.Name}, d.node.RemoveSMBUser(user.Name)
}

// addShares adds shares to a file server, which is made if it is not there.
func (d *document) addShares(i int) (any, error) {
	of := d.SMBServers[i]
	return map[string]any{"name": of.Name}, d.each(of, map[string]func() error{
		"name": nil,
		"shares": func() error {
			for j, share := range of.Shares {
				err := d.each(share, map[string]func() error{"name": nil, "users": done, "size": done, "quota": done},
					"smbServers", i, "shares", j)
				if err == nil {
					err = share.CheckSpace()
				}
				if err == nil {
					err = d.node.AddSMBShare(of.Name, share.Name, share.Users)
				}
				if err == nil {
					err = d.node.SetSMBShareSpace(of.Name, share.Name, int64(share.SizeBytes), int64(share.QuotaBytes))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}, "smbServers", i)
}

func (d *document) changeServer(i int) (any, error) {
	of := d.SMBServers[i]
	return nil, d.each(of, map[string]func() error{
		"name":    nil,
		"stopped": func() error { return d.node.SetSMBServerRunning(of.Name, !of.Stopped) },
	}, "smbServers", i)
}

// removeShares removes shares of a file server.
func (d *document) removeShares(i int) (any, error) {
	of := d.SMBServers[i]
	return map[string]any{"name": of.Name}, d.each(of, map[string]func() error{
		"name": nil,
		"shares": func() error {
			for j, share := range of.Shares {
				err := d.each(share, map[string]func() error{"name": nil}, "smbServers", i, "shares", j)
				if err == nil {
					err = d.node.RemoveSMBShare(of.Name, share.Name)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}, "smbServers", i)
}

func (d *document) dropSMB(i int) (any, error) {
	name := d.SMBSessions[i].Server
	return map[string]any{"server": name}, d.node.DropSMBSessions(name)
}

func (d *document) changePortal(i int) (any, error) {
	of := d.ISCSIPortals[i]
	return nil, d.each(of, map[string]func() error{
		"address": nil, "port": done,
		"connected": func() error {
			return d.node.SetISCSIPortal(of.At.Address, cmp.Or(of.At.Port, iscsi.DefaultPort), of.Connected)
		},
	}, "iscsiPortals", i)
}

func (d *document) dropISCSI(i int) (any, error) {
	name := d.ISCSISessions[i].Target
	return map[string]any{"target": name}, d.node.DropISCSISession(name)
}
