// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// A Record is told of a call as it begins, and what it returns of the rest; nil: this call is not recorded.
type Record func(RecordedCall) CallRecord

// RecordedCall is a call that begins.
type RecordedCall struct {
	RequestID string
	Endpoint  string // "csi-proxy-disk-v1"
	Method    string // "/v1.Disk/ListDiskIDs"
	Client    transport.Peer
}

// A CallRecord takes down one call.
type CallRecord interface {
	// Request is told of the request, unless it could not be read: the message that was decoded, which is that of the
	// version that was called where it is mapped, otherwise that of the newest one. Nobody changes it any more.
	Request(message proto.Message)
	// End is told of the outcome, once. The response is nil after an error; nobody changes it any more.
	End(response proto.Message, err error)
}

// record tells those who record calls of one that begins.
func (c *call) record(all []Record, begins RecordedCall) {
	for _, r := range all {
		if one := r(begins); one != nil {
			c.records = append(c.records, one)
		}
	}
}

// telling decodes a request and tells those who record the call: interceptors do not get to see it, see
// Service.description.
func telling(ctx context.Context, decode func(any) error) func(any) error {
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
