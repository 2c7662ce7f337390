// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"net"

	winio "github.com/Microsoft/go-winio"
)

func locate(target, _ string) (endpoint, error) {
	return locatePipe(target)
}

// openAddress opens a pipe, or waits while it is busy, at anonymous level: the agent can't act as the caller.
// https://learn.microsoft.com/windows/win32/ipc/named-pipe-client
func openAddress(ctx context.Context, address string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, address)
}
