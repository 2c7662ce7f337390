// SPDX-License-Identifier: Apache-2.0

// Package csicode gives the errors of a node plugin the gRPC codes that the CSI specification asks for. A plugin that
// returns the errors of package mounter or csiproxy as they are needs only this in its server:
//
//	grpc.NewServer(grpc.UnaryInterceptor(csicode.Interceptor))
package csicode

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Interceptor gives each error of the plugin's methods its code. The text and the status's details stay, such as the
// agent's reason.
func Interceptor(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	answer, err := handler(ctx, request)
	if err == nil {
		return answer, nil
	}
	s := status.Convert(err).Proto()
	s.Code, s.Message = int32(Of(path.Base(info.FullMethod), err)), err.Error()
	return nil, status.ErrorProto(s)
}

// Of returns the code for the error of a method, such as "NodeStageVolume". Kubelet takes Canceled, DeadlineExceeded,
// Unavailable, ResourceExhausted and Aborted as signs that the work may still be going on, and then neither removes its
// directories nor forgets the volume (isFinalError in its CSI client). Errors after which that is true keep or get one
// of these codes. The only other one is that of ErrDiskTooSmall, Unavailable: after FailedPrecondition or OutOfRange
// kubelet would not repeat NodeExpandVolume.
func Of(method string, err error) codes.Code {
	call := (*csiproxy.Error)(nil)
	switch {
	case errors.Is(err, csiproxy.ErrStillRunning):
		return codes.Aborted
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, fs.ErrInvalid):
		return codes.InvalidArgument
	case errors.Is(err, csiproxy.ErrDiskNotFound), errors.Is(err, csiproxy.ErrVolumeNotFound),
		errors.Is(err, csiproxy.ErrPathNotFound), errors.Is(err, csiproxy.ErrNotMounted), errors.Is(err, fs.ErrNotExist):
		return codes.NotFound
	// Unimplemented would mean that the plugin lacks the method.
	case errors.Is(err, csiproxy.ErrAmbiguous), errors.Is(err, csiproxy.ErrNotFormatted),
		errors.Is(err, csiproxy.ErrUnsupported):
		return codes.FailedPrecondition
	case errors.As(err, &call) && call.Code == codes.InvalidArgument &&
		(method == "NodeGetVolumeStats" || method == "NodeExpandVolume"):
		return codes.NotFound // no volume can be at a path that the agent refuses, such as a relative one
	case status.Code(err) == codes.Unknown:
		return codes.Internal
	}
	return status.Code(err)
}
