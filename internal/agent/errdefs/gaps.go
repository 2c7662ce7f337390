// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// GapsTrailer is the gRPC trailer of a call that succeeded, with what its answer lacks: one sentence in each value.
const GapsTrailer = "csi-proxy-gaps-bin"

// Gaps are what an answer lacks although its call succeeded: objects that Windows gave no answer about. The zero value
// is empty and ready for use. It is safe for concurrent use.
type Gaps struct {
	mu    sync.Mutex
	texts []string
}

type gapsKey struct{}

// WithGaps returns a context in which LeftOut adds to the gaps.
func WithGaps(ctx context.Context, g *Gaps) context.Context {
	return context.WithValue(ctx, gapsKey{}, g)
}

// LeftOut notes why an object is missing in the answer of the context's call.
func LeftOut(ctx context.Context, why error) {
	g, ok := ctx.Value(gapsKey{}).(*Gaps)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.texts, why.Error()) {
		g.texts = append(g.texts, why.Error())
	}
}

// Texts returns the gaps in the order in which they were found.
func (g *Gaps) Texts() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.texts)
}

// NotAnswering reports whether an error means that an object hangs: Windows may answer about it later.
func NotAnswering(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == reason.NotAnswering
}
