// SPDX-License-Identifier: Apache-2.0

package transport

import "net"

// Endpoints holds the listeners of one agent: sockets in a directory, or named pipes. Open opens one.
type Endpoints interface {
	// Listen opens the listener of an endpoint's name. It fails when another process serves that name. A private endpoint
	// is not open to clients that Options.PipeSecurity admits to the others. PeerOf returns a connection's other end.
	Listen(name string, private bool) (net.Listener, error)
	// Path returns the path of an endpoint's socket or pipe.
	Path(name string) string
	// Close gives up the directory, or the pipes' goroutine. The listeners must be closed before.
	Close() error
}

// Options configure Endpoints. Each system reads the fields that concern it.
type Options struct {
	// SocketDir is the directory of the sockets.
	SocketDir string
	// PipePrefix is put before the endpoint's name in a pipe's: \\.\pipe\PREFIXcsi-proxy-disk-v1. All pipes of a machine
	// share one namespace, so two agents on it need prefixes; clients that know only the plain names do not find them.
	PipePrefix string
	// PipeSecurity is the security descriptor of pipes that are not private, in SDDL; empty: SYSTEM and administrators.
	PipeSecurity string
	// OwnUser also admits the agent's own user, as sockets always do; with PipeSecurity only to private endpoints.
	OwnUser bool
}
