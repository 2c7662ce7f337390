// SPDX-License-Identifier: Apache-2.0

package transport

import "net"

// A Place holds the listeners of one agent: sockets in a directory, or named pipes. Open takes one.
type Place interface {
	// Listen opens the listener of an endpoint's name. It fails when another process serves that name. A private endpoint
	// stays closed to those whom Options.PipeSecurity lets in to the others. PeerOf knows the connections' other ends.
	Listen(name string, private bool) (net.Listener, error)
	// Path returns where clients find an endpoint: a socket's path or a pipe's name.
	Path(name string) string
	// Close gives the place up. Its listeners must be closed before.
	Close() error
}

// Options say where a Place is. Each system reads the fields that concern it.
type Options struct {
	// SocketDir is the directory of the sockets.
	SocketDir string
	// PipePrefix stands before the endpoint's name in a pipe's: \\.\pipe\PREFIXcsi-proxy-disk-v1. All pipes of a machine
	// share one namespace, so two agents on it need it; clients that know only the plain names do not find them.
	PipePrefix string
	// PipeSecurity is the pipes' security descriptor in SDDL; empty: SYSTEM and administrators. See CheckPipeSecurity.
	// Private endpoints do not follow it.
	PipeSecurity string
	// OwnUser admits the user that runs the agent as well, as sockets do anyway. With PipeSecurity it concerns private
	// endpoints alone.
	OwnUser bool
}
