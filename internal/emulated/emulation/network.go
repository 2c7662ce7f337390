// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

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
	now := n.Surroundings()
	return listed(now.SMB.Servers, func(s smb.Server) any {
			return map[string]any{"name": s.Name, "stopped": s.Stopped,
				"shares": listed(s.Shares, func(o smb.Share) any { return o.Name })}
		}), listed(now.ISCSI.Storage, func(p iscsi.Portal) any {
			return map[string]any{"address": p.At.Address, "port": uint32(p.At.Port),
				"connected": now.ISCSI.Reachable(p.At) != nil,
				"targets":   listed(p.Targets, func(t iscsi.Target) any { return t.Name })}
		})
}

// users returns the accounts of the file servers.
func users(n *emulated.Node) []any {
	return listed(n.Surroundings().SMB.Users, func(u smb.Account) any {
		return map[string]any{"name": u.Name, "domains": listed(u.Domains, func(d string) any { return d })}
	})
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

// shares does something with each share of a server in a document, which has these keys.
func (d *document) shares(i int, keys map[string]func() error, do func(server string, s smb.Share) error) (any, error) {
	of := d.SMBServers[i]
	return map[string]any{"name": of.Name}, d.each(of, map[string]func() error{
		"name": nil,
		"shares": func() error {
			for j, share := range of.Shares {
				err := d.each(share, keys, "smbServers", i, "shares", j)
				if err == nil {
					err = do(of.Name, share)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}, "smbServers", i)
}

func (d *document) addShares(i int) (any, error) {
	keys := map[string]func() error{"name": nil, "users": done, "size": done, "quota": done}
	return d.shares(i, keys, func(server string, s smb.Share) error {
		if err := d.node.AddSMBShare(server, s.Name, s.Users); err != nil {
			return err
		}
		return d.node.SetSMBShareSpace(server, s.Name, int64(s.SizeBytes), int64(s.QuotaBytes))
	})
}

func (d *document) removeShares(i int) (any, error) {
	return d.shares(i, map[string]func() error{"name": nil},
		func(server string, s smb.Share) error { return d.node.RemoveSMBShare(server, s.Name) })
}

func (d *document) changeServer(i int) (any, error) {
	of := d.SMBServers[i]
	return nil, d.each(of, map[string]func() error{
		"name":    nil,
		"stopped": func() error { return d.node.SetSMBServerRunning(of.Name, !of.Stopped) },
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
