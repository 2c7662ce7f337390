// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package dial

import (
	"context"
	"net"
)

func locate(target, socketDir string) (endpoint, error) {
	return locateSocket(target, socketDir)
}

func openAddress(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", address)
}
