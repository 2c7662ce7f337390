// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// The API has no call for a disk's read-only attribute. These go through the same limits, log, audit and errors.

const diskService = "inprocess.Disk"

func readOnlyEndpoint(disks *node.Disks) server.Endpoint {
	set := func(readOnly bool) func(context.Context, *wrapperspb.UInt32Value) (*emptypb.Empty, error) {
		return func(ctx context.Context, number *wrapperspb.UInt32Value) (*emptypb.Empty, error) {
			return &emptypb.Empty{}, disks.SetDiskReadOnly(ctx, number.GetValue(), readOnly)
		}
	}
	return server.Endpoint{Name: "inprocess", Services: []server.Service{{Name: diskService, Methods: []server.Method{
		server.Unary("GetDiskReadOnly", node.LimitRead,
			func(ctx context.Context, number *wrapperspb.UInt32Value) (*wrapperspb.BoolValue, error) {
				readOnly, err := disks.GetDiskReadOnly(ctx, number.GetValue())
				return wrapperspb.Bool(readOnly), err
			}),
		server.Unary("MakeDiskReadOnly", node.LimitWrite, set(true)),
		server.Unary("MakeDiskWritable", node.LimitWrite, set(false)),
	}}}}
}

// GetDiskReadOnly reports whether a disk is read-only.
func (n *Node) GetDiskReadOnly(ctx context.Context, diskNumber uint32) (bool, error) {
	answer := &wrapperspb.BoolValue{}
	err := n.readOnly.Invoke(ctx, "/"+diskService+"/GetDiskReadOnly", wrapperspb.UInt32(diskNumber), answer)
	return answer.GetValue(), err
}

// SetDiskReadOnly makes a disk read-only or writable, whether it is online or not. A disk that is so already stays so;
// the one that Windows runs from is never made read-only.
func (n *Node) SetDiskReadOnly(ctx context.Context, diskNumber uint32, readOnly bool) error {
	method := "MakeDiskWritable"
	if readOnly {
		method = "MakeDiskReadOnly"
	}
	return n.readOnly.Invoke(ctx, "/"+diskService+"/"+method, wrapperspb.UInt32(diskNumber), &emptypb.Empty{})
}
