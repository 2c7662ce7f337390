// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
)

// partTimeout is how long each part may take; with a caller that waits less long, half of the time that is left. Facts
// are asked for when something hangs: a part that hangs must not hide the others. The looks at all disks and volumes
// limit each of these by themselves.
const partTimeout = 5 * time.Second

// FactsOf returns what GetFacts answers about a node. Parts that do not need each other run side by side.
func FactsOf(ctx context.Context, n *node.Node, parts ...api.Part) *api.GetFactsResponse {
	f := &facts{ctx: ctx, node: n, parts: parts, answer: &api.GetFactsResponse{
		WorkingDirectories: n.Filesystem.WorkingDirs(), MissingPrivileges: n.MissingPrivileges()}}
	var running sync.WaitGroup
	for _, part := range []func(){f.directories, f.sessions, f.linksAndShares, f.disks, f.volumes} {
		running.Go(part)
	}
	running.Wait()
	slices.SortFunc(f.answer.GetGaps(), func(a, b *api.Gap) int { return cmp.Compare(a.GetPart(), b.GetPart()) })
	f.answer.Operations = n.Running() // last: what this look has left behind hangs as well
	return f.answer
}

// facts is one look at a node.
type facts struct {
	ctx   context.Context
	node  *node.Node
	parts []api.Part

	mu     sync.Mutex // guards the gaps
	answer *api.GetFactsResponse
}

func (f *facts) wants(part api.Part) bool { return slices.Contains(f.parts, part) }

// look looks at a part, or some of it. What fails is a gap.
func (f *facts) look(asked api.Part, what string, do func(context.Context) error) {
	limit := partTimeout
	if end, is := f.ctx.Deadline(); is {
		limit = min(limit, time.Until(end)/2)
	}
	limited, cancel := context.WithTimeout(f.ctx, limit)
	defer cancel()
	f.addGaps(asked, what, do(limited))
}

func (f *facts) addGaps(asked api.Part, what string, errs ...error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, err := range errs {
		if err != nil {
			f.answer.Gaps = append(f.answer.Gaps, &api.Gap{Part: what, Error: err.Error(), Asked: asked,
				Unanswered: errdefs.IsUnanswered(err), Object: operation.Unanswered(err)})
		}
	}
}

func (f *facts) disks() {
	if f.wants(api.Part_PART_DISKS) {
		seen, err := f.node.Disks.Facts(f.ctx, f.wants(api.Part_PART_CONTENTS))
		f.answer.Disks = seen.All
		f.addGaps(api.Part_PART_DISKS, "disks", append(seen.Unknown, err)...)
	}
}

func (f *facts) volumes() {
	if f.wants(api.Part_PART_VOLUMES) {
		seen, err := f.node.Volumes.Facts(f.ctx)
		f.answer.Volumes = seen.All
		f.addGaps(api.Part_PART_VOLUMES, "volumes", append(seen.Unknown, err)...)
	}
}

func (f *facts) directories() {
	f.look(api.Part_PART_UNSPECIFIED, "working directories", func(ctx context.Context) (err error) {
		f.answer.UnusableDirectories, err = f.node.Filesystem.UnusableDirectories(ctx)
		return err
	})
}

func (f *facts) sessions() {
	if f.wants(api.Part_PART_SESSIONS) {
		f.look(api.Part_PART_SESSIONS, "iSCSI sessions", func(ctx context.Context) (err error) {
			f.answer.Sessions, err = f.node.ISCSI.Sessions(ctx)
			return err
		})
	}
}

// linksAndShares looks for links, and at the shares behind them.
func (f *facts) linksAndShares() {
	var links node.Links
	if f.wants(api.Part_PART_LINKS) || f.wants(api.Part_PART_SHARES) {
		f.look(api.Part_PART_LINKS, "mount points and links", func(ctx context.Context) (err error) {
			links, err = f.node.Filesystem.Links(ctx)
			f.answer.Links, f.answer.AllLinks = links.All, links.Complete
			return err
		})
	}
	if !f.wants(api.Part_PART_MAPPINGS) {
		return
	}
	f.look(api.Part_PART_MAPPINGS, "SMB mappings", func(ctx context.Context) (err error) {
		f.answer.Mappings, err = f.node.SMB.Mappings(ctx)
		return err
	})
	if f.wants(api.Part_PART_STAGED) {
		f.look(api.Part_PART_STAGED, "the volumes that are staged on shares", func(ctx context.Context) error {
			targets, err := f.node.SMB.Targets(ctx)
			for _, m := range f.answer.GetMappings() {
				m.Targets = targets[winfs.MappingKey(m.GetRemotePath())]
			}
			return err
		})
	}
	if !f.wants(api.Part_PART_SHARES) {
		return
	}
	f.look(api.Part_PART_SHARES, "the shares behind links", func(ctx context.Context) error {
		failures, err := f.node.SMB.Look(ctx, links.Shares)
		for _, m := range f.answer.GetMappings() {
			if failure := failures[winfs.MappingKey(m.GetRemotePath())]; failure != nil {
				var code win32.Errno
				isCode := errors.As(failure, &code)
				m.Error, m.Win32Code = failure.Error(), uint32(code)
				m.WithoutCredentials = !isCode && errdefs.HasReason(failure, reason.InvalidCredentials)
			}
		}
		return err
	})
}
