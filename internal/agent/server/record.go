// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// A Recorder begins the Record of a call; nil: the call is not recorded.
type Recorder func(CallInfo) Record

// CallInfo describes a call that begins.
type CallInfo struct {
	RequestID string
	Endpoint  string // "csi-proxy-disk-v1"
	Method    string // "/v1.Disk/ListDiskIDs"
	Client    transport.Peer
	Rule      string // of the policy; "" without a policy, and if no rule is for the client
}

// A Record records one call.
type Record interface {
	// Request gets the decoded request, if it could be read: for a mapped method the message of the version that was
	// called, otherwise that of the newest version. The message does not change any more.
	Request(message proto.Message)
	// End gets the outcome, once. The response, nil after an error, does not change any more.
	End(response proto.Message, err error)
}

// record begins the call's records.
func (c *call) record(recorders []Recorder, info CallInfo) {
	for _, begin := range recorders {
		if r := begin(info); r != nil {
			c.records = append(c.records, r)
		}
	}
}

// recordRequest wraps decode to hand the request to the call's records: the interceptors do not see it.
func recordRequest(ctx context.Context, decode func(any) error) func(any) error {
	return func(request any) error {
		if err := decode(request); err != nil {
			return err
		}
		if message, ok := request.(proto.Message); ok {
			for _, r := range callOf(ctx).records {
				r.Request(message)
			}
		}
		return nil
	}
}
