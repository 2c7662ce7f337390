// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import "github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"

// SetSMBPassword changes the password of an account of the file servers. They refuse any other password at once.
func (n *Node) SetSMBPassword(user, password string) {
	n.t.Helper()
	n.must("setting a password", n.agent.Emulated().SetSMBPassword(user, password))
}

// StopSMBServer stops a file server, whatever is open there.
func (n *Node) StopSMBServer(name string) {
	n.t.Helper()
	n.must("stopping a file server", n.agent.Emulated().StopSMBServer(name))
}

// StartSMBServer starts a file server that was stopped.
func (n *Node) StartSMBServer(name string) {
	n.t.Helper()
	n.must("starting a file server", n.agent.Emulated().StartSMBServer(name))
}

// DropSMBSessions makes a file server close the node's sessions: open files are lost, and mappings are disconnected
// until they are used again.
func (n *Node) DropSMBSessions(server string) {
	n.t.Helper()
	n.must("dropping sessions", n.agent.Emulated().DropSMBSessions(server))
}

// AddSMBShare adds a share to a file server, and the server if it is missing. Without users, all accounts may use the
// share. An existing share gets these users.
func (n *Node) AddSMBShare(server, share string, users ...string) {
	n.t.Helper()
	n.must("adding a share", n.agent.Emulated().AddSMBShare(server, share, users))
}

// SetSMBShareSpace sets the size of a share, 1 TiB at first, and the quota of each account there, in bytes; quota 0 is
// none.
func (n *Node) SetSMBShareSpace(server, share string, size, quota int64) {
	n.t.Helper()
	n.must("setting the size of a share", n.agent.Emulated().SetSMBShareSpace(server, share, size, quota))
}

// RemoveSMBShare removes a share, whatever is open there. Its files are kept for a share of the same name.
func (n *Node) RemoveSMBShare(server, share string) {
	n.t.Helper()
	n.must("removing a share", n.agent.Emulated().RemoveSMBShare(server, share))
}

// AddSMBUser adds an account to all file servers, known by its name alone and as DOMAIN\name in each domain.
func (n *Node) AddSMBUser(user, password string, domains ...string) {
	n.t.Helper()
	n.must("adding an account", n.agent.Emulated().AddSMBUser(
		emulated.SMBUserSpec{Name: user, Domains: domains, Password: password}))
}

// RemoveSMBUser removes an account: servers refuse its sessions at once.
func (n *Node) RemoveSMBUser(user string) {
	n.t.Helper()
	n.must("removing an account", n.agent.Emulated().RemoveSMBUser(user))
}

// DisconnectISCSIPortal cuts a portal off: discovery and logins fail, and the disks of its sessions disappear after a
// minute of the node's clock, see AdvanceClock. Port 0 is 3260.
func (n *Node) DisconnectISCSIPortal(address string, port uint16) {
	n.t.Helper()
	n.must("disconnecting a portal", n.setPortal(address, port, false))
}

// ConnectISCSIPortal connects a portal again. Sessions and disks that were lost with it come back.
func (n *Node) ConnectISCSIPortal(address string, port uint16) {
	n.t.Helper()
	n.must("connecting a portal", n.setPortal(address, port, true))
}

func (n *Node) setPortal(address string, port uint16, connected bool) error {
	if port == 0 {
		port = emulated.DefaultISCSIPort
	}
	return n.agent.Emulated().SetISCSIPortal(address, port, connected)
}

// DropISCSISession ends the session with a target, whatever uses its disks.
func (n *Node) DropISCSISession(target string) {
	n.t.Helper()
	n.must("dropping a session", n.agent.Emulated().DropISCSISession(target))
}
