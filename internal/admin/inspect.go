// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// inspectTimeout is how long each part of an inspection may take. The inspection is for nodes on which something
// hangs: a part that hangs must not hide the others.
const inspectTimeout = 5 * time.Second

// inspect answers Inspect.
func inspect(ctx context.Context, a Agent) (*api.InspectResponse, error) {
	n, err := a.Node()
	if err != nil {
		return nil, err
	}
	return InspectOf(ctx, n), nil
}

// InspectOf returns what Inspect answers about a node.
func InspectOf(ctx context.Context, n *node.Node) *api.InspectResponse {
	response := &api.InspectResponse{}
	for _, o := range n.Running() {
		response.Operations = append(response.Operations,
			&api.Operation{Name: o.Name, Age: durationpb.New(o.Age), Waiting: o.Waiting})
	}
	for _, p := range n.MissingPrivileges() {
		response.MissingPrivileges = append(response.MissingPrivileges,
			&api.Privilege{Name: p.Name, UserRight: p.UserRight, NeededFor: p.NeededFor})
	}
	inspectPart := func(what string, part func(context.Context) error) {
		limited, cancel := context.WithTimeout(ctx, inspectTimeout)
		defer cancel()
		if err := part(limited); err != nil {
			response.Missing = append(response.Missing, what+": "+err.Error())
		}
	}
	inspectPart("mount points and links that lead nowhere", func(ctx context.Context) error {
		found, unpublished, err := n.Filesystem.Dangling(ctx)
		for _, d := range found {
			response.Dangling = append(response.Dangling,
				&api.Dangling{Path: d.Path, Target: d.Target, Kind: danglingKind(d.Kind)})
		}
		for _, u := range unpublished {
			response.Unpublished = append(response.Unpublished, &api.Unpublished{Path: u.Path, Target: u.Target})
		}
		return err
	})
	inspectPart("SMB mappings", func(ctx context.Context) error {
		mappings, err := n.SMB.Mappings(ctx)
		for _, m := range mappings {
			response.SmbMappings = append(response.SmbMappings, &api.SMBMapping{RemotePath: m.RemotePath, Status: m.Status})
		}
		return err
	})
	inspectPart("iSCSI sessions", func(ctx context.Context) error {
		sessions, err := n.ISCSI.Sessions(ctx)
		for _, s := range sessions {
			response.IscsiSessions = append(response.IscsiSessions, &api.ISCSISession{Target: s.Target, Connected: s.Connected})
		}
		return err
	})
	return response
}

func danglingKind(kind node.DanglingKind) api.DanglingKind {
	switch kind {
	case node.VolumeGone:
		return api.DanglingKind_DANGLING_KIND_MOUNT_POINT
	case node.ShareNotMapped:
		return api.DanglingKind_DANGLING_KIND_SHARE
	default:
		return api.DanglingKind_DANGLING_KIND_LINK
	}
}
