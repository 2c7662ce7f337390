// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// Panicked logs where a call or its operation panicked, and returns the caller's error. The panic's value may hold what
// the caller sent, and is logged only if it comes from the runtime. The stack has addresses and lengths of texts.
func Panicked(ctx context.Context, what string, cause any) error {
	text := fmt.Sprintf("%T", cause)
	if e, ok := cause.(runtime.Error); ok {
		text = e.Error()
	}
	klog.FromContext(ctx).Error(nil, "Panic", "call", what, "panic", text, "stack", string(debug.Stack()))
	return errdefs.Internal.Errorf(reason.Panic,
		"%s: the agent failed unexpectedly; its log has the details under this call's x-request-id", what)
}
