// SPDX-License-Identifier: Apache-2.0

package server

import "net"

// A Transport opens the listeners of one agent: sockets in a directory, or named pipes.
type Transport interface {
	// Listen opens the listener of an endpoint's name. It fails when another process serves that name.
	Listen(name string) (net.Listener, error)
	// Path is where clients find an endpoint: a socket's path or a pipe's name.
	Path(name string) string
	// Private is the same transport for endpoints that stay closed to those whom the others may be opened to.
	Private() Transport
	// Close gives the place up. The listeners must be closed before. Private's needs no closing.
	Close() error
}

// A Place says where an agent's endpoints are: named pipes on Windows, sockets in a directory elsewhere. Each system
// reads the fields that concern it.
type Place struct {
	// SocketDir is the directory of the sockets.
	SocketDir string
	// PipePrefix stands before the endpoint's name in a pipe's: \\.\pipe\PREFIXcsi-proxy-disk-v1. All pipes of a machine
	// share one namespace, so two agents on it need it; clients that know only the plain names do not find them.
	PipePrefix string
	// PipeSecurity is the pipes' security descriptor in SDDL; empty: SYSTEM and administrators. See CheckPipeSecurity.
	// Private endpoints do not follow it.
	PipeSecurity string
	// OwnUser admits the user that runs the agent as well, which sockets do anyway. With PipeSecurity it concerns private
	// endpoints alone.
	OwnUser bool
}
