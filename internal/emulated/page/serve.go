// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Serve answers the requests of a listener until stop is called, which gives running answers a moment to end.
func Serve(l net.Listener, handler http.Handler) (stop func()) {
	s := &http.Server{Handler: handler, MaxHeaderBytes: 8 << 10, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // ends with ErrServerClosed when stopped
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}
