// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// SetSMBPassword changes the password of an account of the file servers. They refuse any other password at once.
func (n *Node) SetSMBPassword(user, password string) {
	n.t.Helper()
	n.must("setting a password", n.node().SetSMBPassword(user, password))
}

// StopSMBServer stops a file server, whatever is open there.
func (n *Node) StopSMBServer(name string) {
	n.t.Helper()
	n.must("stopping a file server", n.node().SetSMBServerRunning(name, false))
}

// StartSMBServer starts a file server that was stopped.
func (n *Node) StartSMBServer(name string) {
	n.t.Helper()
	n.must("starting a file server", n.node().SetSMBServerRunning(name, true))
}

// DropSMBSessions makes a file server close the node's sessions: open files are lost, and mappings are disconnected
// until they are used again.
func (n *Node) DropSMBSessions(server string) {
	n.t.Helper()
	n.must("dropping sessions", n.node().DropSMBSessions(server))
}

// A FileServer is one of which the node can map shares, with an account that may use them.
type FileServer struct {
	Name           string
	User, Password string
}

// FileServer returns the file server fs.emulated of the default node, or on a real node this machine, with an account
// of the machine until the test ends.
func (n *Node) FileServer() FileServer {
	n.t.Helper()
	here, is := n.machine.(realMachine)
	if !is {
		return FileServer{"fs.emulated", "csi", "csi-password"}
	}
	server, err := here.fileServer()
	n.must("making an account", err)
	return server
}

// AddSMBShare adds a share to a file server, and the server if it is missing. Without users, all accounts may use the
// share. An existing share gets these users. A real node has one file server, FileServer, whose shares are its
// account's.
func (n *Node) AddSMBShare(server, share string, users ...string) {
	n.t.Helper()
	n.must("adding a share", n.machine.AddSMBShare(server, share, users))
}

// SetSMBShareSpace sets the size of a share, 1 TiB at first, and the quota of each account there, in bytes; quota 0 is
// none.
func (n *Node) SetSMBShareSpace(server, share string, size, quota int64) {
	n.t.Helper()
	n.must("setting the size of a share", n.node().SetSMBShareSpace(server, share, size, quota))
}

// RemoveSMBShare removes a share, whatever is open there. Its files are kept for a share of the same name.
func (n *Node) RemoveSMBShare(server, share string) {
	n.t.Helper()
	n.must("removing a share", n.machine.RemoveSMBShare(server, share))
}

// AddSMBUser adds an account to all file servers, known by its name alone and as DOMAIN\name in each domain.
func (n *Node) AddSMBUser(user, password string, domains ...string) {
	n.t.Helper()
	spec := smb.User{Name: user, Domains: domains, Password: password}
	n.must("adding an account", n.node().AddSMBUser(spec))
}

// RemoveSMBUser removes an account: servers refuse its sessions at once.
func (n *Node) RemoveSMBUser(user string) {
	n.t.Helper()
	n.must("removing an account", n.node().RemoveSMBUser(user))
}

// DisconnectISCSIPortal cuts a portal off: discovery and logins fail, and the disks of its sessions disappear, as on
// Windows after a minute. Port 0 is 3260.
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
		port = iscsi.DefaultPort
	}
	return n.node().SetISCSIPortal(address, port, connected)
}

// DropISCSISession ends the session with a target, whatever uses its disks.
func (n *Node) DropISCSISession(target string) {
	n.t.Helper()
	n.must("dropping a session", n.node().DropISCSISession(target))
}

// ServiceState is a state of a service of the node, as Windows numbers it.
type ServiceState uint32

// The states.
const (
	ServiceStopped      ServiceState = ServiceState(win32.SERVICE_STOPPED)
	ServiceStartPending ServiceState = ServiceState(win32.SERVICE_START_PENDING)
	ServiceStopPending  ServiceState = ServiceState(win32.SERVICE_STOP_PENDING)
	ServiceRunning      ServiceState = ServiceState(win32.SERVICE_RUNNING)
	ServicePaused       ServiceState = ServiceState(win32.SERVICE_PAUSED)
)

// SetServiceState puts a service into a state at once, as a failure or an administrator does. A pending state ends as
// usual. Dependencies are ignored.
func (n *Node) SetServiceState(name string, state ServiceState) {
	n.t.Helper()
	n.setService(name, func(s *services.Service) { s.State = win32.ServiceState(state) })
}

// ServiceStart is when a service starts, as Windows numbers it.
type ServiceStart uint32

// The start types.
const (
	StartAutomatic ServiceStart = ServiceStart(win32.SERVICE_AUTO_START)
	StartManual    ServiceStart = ServiceStart(win32.SERVICE_DEMAND_START)
	StartDisabled  ServiceStart = ServiceStart(win32.SERVICE_DISABLED)
)

// SetServiceStart changes when a service starts.
func (n *Node) SetServiceStart(name string, start ServiceStart) {
	n.t.Helper()
	n.setService(name, func(s *services.Service) { s.StartType = services.StartType(start) })
}

func (n *Node) setService(name string, change func(*services.Service)) {
	n.t.Helper()
	n.must("setting a service", n.node().SetService(name, change))
}

// SetSwitch sets the node's answer to a question that the documentation of Windows leaves open, by its name in scenario
// files: SetSwitch("msr", "delayed"). A driver should work with all answers.
func (n *Node) SetSwitch(name, answer string) {
	n.t.Helper()
	n.must("setting a switch", n.node().SetSwitch(name, answer))
}
