// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"errors"
	"net"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

func locate(target, _ string) (endpoint, error) {
	return locatePipe(target)
}

// openAddress opens a pipe, or waits while it is busy, at anonymous level: the agent can't act as the caller. A pipe of
// a user that cannot be the agent's is refused.
// https://learn.microsoft.com/windows/win32/ipc/named-pipe-client
func openAddress(ctx context.Context, address string) (net.Conn, error) {
	conn, err := winio.DialPipeContext(ctx, address)
	if err != nil {
		return nil, err
	}
	pipe, ok := conn.(interface{ Fd() uintptr })
	if !ok {
		err = errors.New("the pipe's handle is not known, and so not its owner")
	} else {
		err = checkOwner(windows.Handle(pipe.Fd()))
	}
	if err != nil {
		_ = conn.Close() // its error says nothing about the pipe
		return nil, err
	}
	return conn, nil
}
