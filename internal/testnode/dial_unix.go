// SPDX-License-Identifier: Apache-2.0

//go:build unix

package testnode

import (
	"context"
	"net"
)

// DialRaw connects to the address returned by Socket, and sends nothing.
func DialRaw(ctx context.Context, socket string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", socket)
}
