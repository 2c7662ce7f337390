// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
)

// inspectTimeout is how long each part of an inspection may take; with a caller that waits less long, half of the time
// that is left. The inspection is for nodes on which something hangs: a part that hangs must not hide the others.
const inspectTimeout = 5 * time.Second

// InspectOf returns what Inspect answers about a node. Parts that need no links run beside the search for links.
func InspectOf(ctx context.Context, n *node.Node, thorough bool) *api.InspectResponse {
	response := &api.InspectResponse{WorkingDirectories: n.Filesystem.WorkingDirs(),
		MissingPrivileges: n.MissingPrivileges()}
	var missing sync.Mutex
	inspectPart := func(what string, part func(context.Context) error) {
		limit := inspectTimeout
		if end, is := ctx.Deadline(); is {
			limit = min(limit, time.Until(end)/2)
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if err := part(limited); err != nil {
			missing.Lock()
			defer missing.Unlock()
			response.Missing = append(response.Missing, what+": "+err.Error())
			if errdefs.HasReason(err, reason.StillRunning, reason.NotAnswering) {
				response.Unanswered = append(response.Unanswered, what)
			}
		}
	}
	var meanwhile sync.WaitGroup
	meanwhile.Go(func() {
		inspectPart("working directories", func(ctx context.Context) error {
			unusable, err := n.Filesystem.UnusableDirectories(ctx)
			for _, d := range unusable {
				response.UnusableDirectories = append(response.UnusableDirectories,
					&api.WorkingDirectory{Path: d.Path, Error: d.Err.Error(), LinkTarget: d.Target})
			}
			return err
		})
	})
	meanwhile.Go(func() {
		inspectPart("iSCSI sessions", func(ctx context.Context) (err error) {
			response.IscsiSessions, err = n.ISCSI.Sessions(ctx)
			return err
		})
	})
	inspectLinks(response, n, thorough, inspectPart)
	meanwhile.Wait()
	slices.Sort(response.Missing)
	slices.Sort(response.Unanswered)
	for _, o := range n.Running() { // now: what this inspection has left behind hangs as well
		response.Operations = append(response.Operations,
			&api.Operation{Name: o.Name, Age: durationpb.New(o.Age), Waiting: o.Waiting})
	}
	return response
}

// inspectLinks looks for links, and at the shares and disks behind them.
func inspectLinks(response *api.InspectResponse, n *node.Node, thorough bool,
	inspectPart func(what string, part func(context.Context) error)) {
	var links node.Links
	inspectPart("mount points and links that lead nowhere", func(ctx context.Context) (err error) {
		links, err = n.Filesystem.Links(ctx)
		response.Dangling, response.Unpublished = links.Dangling, links.Unpublished
		response.Published, response.Complete = links.Published, links.Complete
		return err
	})
	inspectPart("SMB mappings", func(ctx context.Context) (err error) {
		response.SmbMappings, err = n.SMB.Mappings(ctx)
		for _, m := range response.GetSmbMappings() {
			m.Link = linkTo(links, m.GetRemotePath())
		}
		return err
	})
	inspectPart("the volumes that are staged on shares", func(ctx context.Context) error {
		targets, err := n.SMB.Targets(ctx)
		for _, m := range response.GetSmbMappings() {
			m.Targets = targets[shareKey(m.GetRemotePath())]
		}
		return err
	})
	if !thorough {
		return
	}
	inspectPart("the shares behind links", func(ctx context.Context) error {
		failures, err := n.SMB.Look(ctx, links.Shares)
		for _, m := range response.GetSmbMappings() {
			if failure := failures[shareKey(m.GetRemotePath())]; failure != nil {
				var code win32.Errno
				var e *errdefs.Error
				errors.As(failure, &code)
				m.Error, m.Win32Code = failure.Error(), uint32(code)
				m.Refused = errors.As(failure, &e) && e.Class == errdefs.Unauthenticated
			}
		}
		return err
	})
	inspectPart("disks that do not answer", func(ctx context.Context) (err error) {
		misses := func(d *api.Dangling) bool { return d.GetKind() == api.DanglingKind_DANGLING_KIND_MOUNT_POINT }
		response.DiskTroubles, err = n.Disks.Troubles(ctx, slices.ContainsFunc(links.Dangling, misses))
		return err
	})
}

// shareKey returns the key of the share that a mapping is of.
func shareKey(remotePath string) string {
	return winfs.MappingKey(kernel.SMBGlobalMapping{RemotePath: remotePath})
}

// linkTo returns a link that leads to a share, "" if none was seen.
func linkTo(links node.Links, share string) string {
	for _, l := range links.Shares {
		if l.Key() == shareKey(share) {
			return l.At.String()
		}
	}
	return ""
}
