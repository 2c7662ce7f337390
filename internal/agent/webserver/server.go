// SPDX-License-Identifier: Apache-2.0

// Package webserver serves HTTP with bounds of connections, of headers, and of the time of a request and its answer.
package webserver

import (
	"context"
	"net"
	"net/http"
	"time"
)

// stopTimeout is how long stopping waits for running answers.
const stopTimeout = 3 * time.Second

// Serve answers the requests of a listener. Stop closes it and gives running answers a moment to end.
func Serve(l net.Listener, handler http.Handler) (stop func()) {
	s := &http.Server{
		MaxHeaderBytes:    8 << 10,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute,
	}
	limitConns(s, handler)
	go func() { _ = s.Serve(l) }() // ends with ErrServerClosed when stopped
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}
