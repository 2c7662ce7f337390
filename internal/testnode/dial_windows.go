// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"net"

	winio "github.com/Microsoft/go-winio"
)

// DialRaw connects to the address returned by Socket, and sends nothing.
func DialRaw(ctx context.Context, pipe string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, pipe)
}
