// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"net"

	winio "github.com/Microsoft/go-winio"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// DialRaw connects to the address returned by Socket, and sends nothing.
func DialRaw(ctx context.Context, pipe string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, pipe)
}

// OnWine reports whether the tests run under Wine, which also counts as Windows.
func OnWine() bool { return machine.OnWine() }
