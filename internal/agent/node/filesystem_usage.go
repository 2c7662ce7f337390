// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Usage is how full a file system is, in bytes; all 0 for a volume without one. Total is Used and Available together.
type Usage struct{ Total, Used, Available int64 }

func (o *op) volumeUsage(id winpath.VolumeID) (Usage, error) {
	restore, err := o.run.TrackObject(operation.Volume(id))
	if err != nil {
		return Usage{}, err
	}
	defer restore()
	return o.volumeStats(id)
}

// shareUsage asks the server of a share as askShare does: for at most answerTime, and once for concurrent callers.
func (o *op) shareUsage(share winpath.UNC, at winpath.Path) (Usage, error) {
	key := share.Key()
	ctx, cancel := context.WithTimeout(o.run.Context, answerTime)
	defer cancel()
	space, err := changeTo(ctx, o.node, operation.On("AskShareSpace", operation.ShareContact(share)),
		func(o *op) (win32.FileFsFullSize, error) { return o.fs.ShareSpace(share, at) })
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Usage{}, errdefs.Unavailable.WrapErrorf(err, reason.NotAnswering,
			"the size of the share %s is not known: its server did not answer within %v", key, answerTime)
	case unreachable(err):
		return Usage{}, smbError(errdefs.Unavailable, err,
			"the size of the share %s is not known: its server does not answer", key)
	case errdefs.HasCode(err, win32.ERROR_BAD_NET_NAME):
		return Usage{}, smbError(errdefs.NotFound, err, "the size of the share %s is not known: its server has no such share",
			key)
	case err != nil:
		return Usage{}, err
	}
	total, available, ok := space.Space()
	if !ok {
		return Usage{}, errdefs.Internal.Errorf(reason.Sizes,
			"the server of the share %s reports sizes that contradict each other: %+v", key, space)
	}
	return Usage{total, total - available, available}, nil
}
