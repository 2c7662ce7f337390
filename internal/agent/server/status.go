// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Domain is the domain of every google.rpc.ErrorInfo that the agent sends.
const Domain = "csi-proxy"

// maxMessage is how many bytes of an error's text are sent: it goes in a header, and may quote what the caller sent.
const maxMessage = 4096

// toStatus is the one place where an error becomes a gRPC status: a code that a program can act on, an ErrorInfo with
// the reason and the underlying Win32 code, and a message that a person can act on.
func toStatus(err error) error {
	metadata := map[string]string{}
	if code := win32.Errno(0); errors.As(err, &code) {
		metadata["win32"] = strconv.FormatUint(uint64(code), 10)
	}
	if call := (*kernel.Error)(nil); errors.As(err, &call) {
		metadata["function"] = call.Function
	}
	e, argument := (*errdefs.Error)(nil), (*versions.ArgumentError)(nil)
	code, why := codes.Internal, reason.Internal
	_, already := status.FromError(err)
	switch {
	case errors.As(err, &e):
		code, why = cmp.Or(codes.Code(e.Class), codes.Internal), e.Reason
	case errors.As(err, &argument):
		code, why = codes.InvalidArgument, reason.InvalidArgument
	case already:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		code, why = codes.DeadlineExceeded, reason.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code, why = codes.Canceled, reason.Canceled
	}
	return withReason(code, err.Error(), why, metadata)
}

// withReason returns a status with an ErrorInfo.
func withReason(code codes.Code, text, reason string, metadata map[string]string) error {
	s := status.New(code, printable.Clip(text, maxMessage))
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Domain: Domain, Reason: reason, Metadata: metadata})
	if err != nil {
		return s.Err()
	}
	return detailed.Err()
}

// ReasonOf returns the reason of a call's error, "" if it has none.
func ReasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
