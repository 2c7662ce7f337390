// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// GapsTrailer is the gRPC trailer of a call that succeeded, with what its answer lacks, or what it did not do: one
// sentence in each value.
const GapsTrailer = "csi-proxy-gaps-bin"

type gapsKey struct{}

// WithGaps returns a context in which LeftOut and NotDone call a function, on any goroutine.
func WithGaps(ctx context.Context, note func(why string)) context.Context {
	return context.WithValue(ctx, gapsKey{}, note)
}

// LeftOut notes that an object is missing in the answer of the context's call, if it hangs: Windows may answer later.
func LeftOut(ctx context.Context, why error) {
	if HasReason(why, reason.NotAnswering) {
		NotDone(ctx, why.Error())
	}
}

// NotDone notes what the context's call did not do although its caller may take it for done.
func NotDone(ctx context.Context, what string) {
	if note, ok := ctx.Value(gapsKey{}).(func(string)); ok {
		note(what)
	}
}
