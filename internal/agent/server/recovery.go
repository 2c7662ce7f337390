// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// panicked logs where a call panicked and returns the caller's error. The panic's value is logged only if it comes from
// the runtime, and the stack without arguments: either may hold what the caller sent.
func panicked(ctx context.Context, method string, cause any) error {
	text := fmt.Sprintf("%T", cause)
	if e, ok := cause.(runtime.Error); ok {
		text = e.Error()
	}
	klog.FromContext(ctx).Error(nil, "panic in a call", "method", method, "panic", text, "stack", stack())
	return withReason(codes.Internal,
		"the agent failed unexpectedly; its log has the details under this call's "+requestIDHeader, reason.Panic, nil)
}

// stack returns the functions and lines of the panicking goroutine.
func stack() string {
	var text strings.Builder
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&text, "%s %s:%d\n", frame.Function, frame.File, frame.Line)
		if !more {
			return text.String()
		}
	}
}
