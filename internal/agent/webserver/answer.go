// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"bytes"
	"net/http"
	"strconv"
)

// An answer keeps what a handler writes. So a client that does not read holds up no handler, nor what that has taken.
type answer struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps a part of the body.
func (a *answer) Write(part []byte) (int, error) { return a.body.Write(part) }

// send sends the answer, within the server's WriteTimeout.
func (a *answer) send() {
	a.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = a.body.WriteTo(a.ResponseWriter) // a client that went away needs no answer
}
