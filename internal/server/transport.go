// SPDX-License-Identifier: Apache-2.0

package server

import "net"

// A Transport opens the listeners of one agent: sockets in a directory, or named pipes.
type Transport interface {
	// Listen opens the listener of an endpoint's name. It fails when another process serves that name.
	Listen(name string) (net.Listener, error)
	// Path is where clients find an endpoint: a socket's path or a pipe's name.
	Path(name string) string
}
