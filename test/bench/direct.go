// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

// measureDirect measures calls in the process of their caller, as library mode makes them, beside the echo: what the
// kernel's answer takes. A call by way of an agent takes that and an echo at least.
func (b *bench) measureDirect(ctx context.Context) error {
	n, err := inprocess.Open(inprocess.Options{})
	if err != nil {
		return err
	}
	local := n.Client().Connection()
	return b.withEcho(ctx, func(address string) error {
		echo, err := dial.Open(ctx, address, dial.Options{})
		if err != nil {
			return err
		}
		defer echo.Close()
		for _, row := range []struct {
			name    string
			request sideRequest
			callers int
		}{
			{"GetBIOSSerialNumber", biosRequest(), 1},
			{"GetService", serviceRequest(windowsService), 1},
			{"PathExists", pathRequest(), 1},
			{fmt.Sprintf("PathExists, %d callers, one connection of the echo", callers), pathRequest(), callers},
		} {
			r := row.request
			if err := local.Invoke(ctx, r.method, r.message, r.reply); err != nil { // the echo's messages are of the same size
				return err
			}
			took, err := inTurns(ctx, b.options, row.callers, [2]call{
				func(ctx context.Context) error {
					return local.Invoke(ctx, r.method, r.message, r.reply.ProtoReflect().New().Interface())
				},
				echoOf(echo, r.message, r.reply),
			})
			if err != nil {
				return err
			}
			b.Direct = append(b.Direct, sideCall{Name: row.name, Call: took[0], Echo: took[1]})
		}
		return nil
	})
}
