// SPDX-License-Identifier: Apache-2.0

// Package audit records each call to the agent: its client, its request and its outcome, as one JSON object on a line,
// in the order in which calls end. The fields are a contract, described in docs/security.md.
package audit

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/redact"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// maxMessage is how many bytes of an error's text a line holds: the text may quote what the caller sent.
const maxMessage = 1024

// A Log writes audit lines. Its Record is a server.Recorder.
type Log struct {
	logger klog.Logger

	mu     sync.Mutex
	to     io.Writer
	failed bool // the last line could not be written
}

// New returns a Log that writes each line in one piece. A line that cannot be written is reported to the logger, once
// until one can be, and the call goes on: a full disk must be no outage.
func New(to io.Writer, logger klog.Logger) *Log { return &Log{to: to, logger: logger} }

// line is one call in the file. Fields may be added; none changes its name or its meaning.
type line struct {
	Time      string `json:"time"` // when the call began, RFC 3339 in UTC with microseconds
	RequestID string `json:"request_id"`
	PID       int    `json:"pid,omitempty"`      // of the caller
	Image     string `json:"image,omitempty"`    // of the caller, on Windows
	UID       *int   `json:"uid,omitempty"`      // of the caller, on Linux
	SID       string `json:"sid,omitempty"`      // of the caller, on Windows
	Elevated  *bool  `json:"elevated,omitempty"` // with sid
	// of the caller, if it was found out; on Linux its control group
	Container string `json:"container,omitempty"`
	Client    string `json:"client,omitempty"`
	Endpoint  string `json:"endpoint"`
	Method    string `json:"method"`
	// of the policy, which allowed or refused the call; absent with the reason POLICY: no rule is for the caller
	Rule string `json:"rule,omitempty"`
	// without secrets; absent when it could not be read, or is too large
	Request  json.RawMessage `json:"request,omitempty"`
	Bytes    int             `json:"request_bytes,omitempty"` // of a request that is too large
	Code     string          `json:"code"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Duration float64         `json:"duration_ms"`
}

// Record begins the line of a call.
func (l *Log) Record(c server.CallInfo) server.Record {
	begin := time.Now()
	r := &record{log: l, begin: begin}
	r.line = line{
		Time: stamp(begin), RequestID: c.RequestID, Endpoint: c.Endpoint, Method: c.Method, Rule: c.Rule,
	}
	r.line.caller(c.Client)
	return r
}

// caller fills in the caller: the process, or in words that it is this one or unknown.
func (l *line) caller(client transport.Peer) {
	if !client.Known() {
		l.Client = client.String()
		return
	}
	l.PID, l.UID, l.Image = int(client.PID), client.UID, strings.ToValidUTF8(client.Image, "\uFFFD")
	l.Container = strings.ToValidUTF8(client.Container, "\uFFFD")
	if client.SID != "" {
		l.SID, l.Elevated = client.SID, &client.Elevated
	}
}

// record is a running call.
type record struct {
	log   *Log
	begin time.Time
	line  line
}

// Request fills in the masked request.
func (r *record) Request(request proto.Message) {
	kept, tooLarge := redact.Mask(request)
	if r.line.Bytes = tooLarge; tooLarge > 0 {
		return
	}
	if text, err := redact.JSON(kept); err == nil {
		r.line.Request = text
	}
}

// End writes the line.
func (r *record) End(_ proto.Message, err error) {
	s := status.Convert(err)
	r.line.Code, r.line.Message = s.Code().String(), printable.Clip(s.Message(), maxMessage)
	r.line.Reason = server.ReasonOf(err)
	r.line.Duration = float64(time.Since(r.begin).Microseconds()) / 1000
	text, err := json.Marshal(r.line)
	if err != nil {
		r.log.logger.Error(err, "a call is missing in the audit log", "requestID", r.line.RequestID)
		return
	}
	r.log.write(append(printable.JSON(text), '\n'))
}

func (l *Log) write(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.to.Write(text)
	if err != nil && !l.failed {
		l.logger.Error(err, "the audit log cannot be written; calls go on without it")
	}
	l.failed = err != nil
}

// Lost returns a line about lines that could not be written; logfile.Options takes it.
func Lost(lines int, cause error) string {
	text, err := json.Marshal(struct {
		Time  string `json:"time"`
		Lost  int    `json:"lost"` // lines before this one
		Cause string `json:"cause"`
	}{stamp(time.Now()), lines, printable.Clip(cause.Error(), maxMessage)})
	if err != nil {
		return "{}\n"
	}
	return string(printable.JSON(text)) + "\n"
}

// stamp returns a time as lines show it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }
