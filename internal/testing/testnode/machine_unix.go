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

// OnWine reports whether the tests run under Wine, which also counts as Windows.
func OnWine() bool { return false }
