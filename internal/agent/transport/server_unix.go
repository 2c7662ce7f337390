// SPDX-License-Identifier: Apache-2.0

//go:build unix

package transport

import (
	"context"
	"net"
)

// ServerOf returns the process that listens at a unix socket, and the zero Peer where the system does not name it.
func ServerOf(ctx context.Context, path string) (Peer, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return Peer{}, err
	}
	defer c.Close()
	server, process := peerOf(c.(*net.UnixConn))
	if process != nil {
		_ = process.Close()
	}
	return server, nil
}
