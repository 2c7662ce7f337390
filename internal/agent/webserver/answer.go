// SPDX-License-Identifier: Apache-2.0

package webserver

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"
)

// takeTimeout is how long a client may take for an answer that is ready.
const takeTimeout = 10 * time.Second

// An answer keeps what a handler writes. So a client that does not read holds up no handler, nor what that has taken.
type answer struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
	later  io.WriterTo // the body, if the handler gave it whole
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write keeps a part of the body.
func (a *answer) Write(part []byte) (int, error) { return a.body.Write(part) }

// SendLater makes a body the answer to a request that Serve gave to a handler. It is written after the handler is
// over, as fast as the client takes it, and nothing else of it is kept meanwhile.
func SendLater(w http.ResponseWriter, body io.WriterTo) {
	if a, ok := w.(*answer); ok {
		a.later = body
		return
	}
	_, _ = body.WriteTo(w)
}

// send sends the answer within takeTimeout. A client that went away, or takes nothing, needs none.
func (a *answer) send() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(takeTimeout))
	if a.later == nil {
		a.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
		a.later = &a.body
	}
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = a.later.WriteTo(a.ResponseWriter)
}
