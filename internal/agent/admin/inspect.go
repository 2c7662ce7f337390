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
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
)

// inspectTimeout is how long each part of an inspection may take; with a caller that waits less long, half of the time
// that is left. The inspection is for nodes on which something hangs: a part that hangs must not hide the others.
const inspectTimeout = 5 * time.Second

// inspect answers Inspect.
func inspect(ctx context.Context, a Agent, thorough bool) (*api.InspectResponse, error) {
	n, err := a.Node()
	if err != nil {
		return nil, err
	}
	return InspectOf(ctx, n, thorough), nil
}

// InspectOf returns what Inspect answers about a node. Parts that need no links are looked at beside the search for
// links.
func InspectOf(ctx context.Context, n *node.Node, thorough bool) *api.InspectResponse {
	response := &api.InspectResponse{WorkingDirectories: n.Filesystem.WorkingDirs()}
	for _, p := range n.MissingPrivileges() {
		response.MissingPrivileges = append(response.MissingPrivileges,
			&api.Privilege{Name: p.Name, UserRight: p.UserRight, NeededFor: p.NeededFor})
	}
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
		inspectPart("iSCSI sessions", func(ctx context.Context) error {
			sessions, err := n.ISCSI.Sessions(ctx)
			for _, s := range sessions {
				response.IscsiSessions = append(response.IscsiSessions,
					&api.ISCSISession{Target: s.Target, Connected: s.Connected})
			}
			return err
		})
	})
	inspectLinks(response, n, thorough, inspectPart)
	meanwhile.Wait()
	slices.Sort(response.Missing)
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
		addLinks(response, links)
		return err
	})
	inspectPart("SMB mappings", func(ctx context.Context) error {
		mappings, err := n.SMB.Mappings(ctx)
		for _, m := range mappings {
			response.SmbMappings = append(response.SmbMappings, &api.SMBMapping{RemotePath: m.RemotePath, Status: m.Status,
				Link: linkTo(links, m.RemotePath)})
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
	inspectPart("disks that do not answer", func(ctx context.Context) error {
		troubles, err := n.Disks.Troubles(ctx, missesVolume(links))
		for _, d := range troubles {
			trouble := &api.DiskTrouble{Disk: d.Disk, Unreadable: d.Err == nil, Error: d.Content}
			if d.Err != nil {
				trouble.Error = d.Err.Error()
			}
			response.DiskTroubles = append(response.DiskTroubles, trouble)
		}
		return err
	})
}

// addLinks adds what a search for links found.
func addLinks(response *api.InspectResponse, links node.Links) {
	for _, d := range links.Dangling {
		response.Dangling = append(response.Dangling,
			&api.Dangling{Path: d.Path, Target: d.Target, Kind: danglingKind(d.Kind)})
	}
	for _, u := range links.Unpublished {
		response.Unpublished = append(response.Unpublished, &api.Unpublished{Path: u.Path, Target: u.Target})
	}
	for _, p := range links.Published {
		response.Published = append(response.Published, &api.Publication{Path: p.Path, Target: p.Target})
	}
	response.Complete = links.Complete
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

// missesVolume reports whether a mount point misses its volume.
func missesVolume(links node.Links) bool {
	return slices.ContainsFunc(links.Dangling, func(d node.Dangling) bool { return d.Kind == node.VolumeGone })
}

func danglingKind(kind node.DanglingKind) api.DanglingKind {
	switch kind {
	case node.VolumeGone:
		return api.DanglingKind_DANGLING_KIND_MOUNT_POINT
	case node.ShareNotMapped:
		return api.DanglingKind_DANGLING_KIND_SHARE
	case node.NotMounted:
		return api.DanglingKind_DANGLING_KIND_NOT_MOUNTED
	default:
		return api.DanglingKind_DANGLING_KIND_LINK
	}
}
