// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// inspectPatience is how long each part of an inspection may take. The inspection is for nodes on which something hangs:
// one part that does must not hide the others.
const inspectPatience = 5 * time.Second

// inspect answers Inspect.
func (a *Agent) inspect(ctx context.Context, _ *admin.InspectRequest) (*admin.InspectResponse, error) {
	_, n := a.serving()
	if n == nil {
		return nil, notServed()
	}
	response := &admin.InspectResponse{}
	for _, o := range n.Running() {
		response.Operations = append(response.Operations, &admin.Operation{Name: o.Name, Age: durationpb.New(o.Age), Waiting: o.Waiting})
	}
	for _, part := range []struct {
		what string
		look func(context.Context, *node.Node, *admin.InspectResponse) error
	}{
		{"mount points and links that lead nowhere", inspectLinks},
		{"SMB mappings", inspectMappings},
		{"iSCSI sessions", inspectSessions},
	} {
		limited, cancel := context.WithTimeout(ctx, inspectPatience)
		err := part.look(limited, n, response)
		cancel()
		if err != nil {
			response.Missing = append(response.Missing, part.what+": "+err.Error())
		}
	}
	return response, nil
}

func inspectLinks(ctx context.Context, n *node.Node, response *admin.InspectResponse) error {
	found, err := n.Filesystem.Dangling(ctx)
	for _, d := range found {
		response.Dangling = append(response.Dangling, &admin.Dangling{Path: d.Path, Target: d.Target, Kind: danglingKind(d.Kind)})
	}
	return err
}

func danglingKind(kind node.DanglingKind) admin.DanglingKind {
	switch kind {
	case node.VolumeGone:
		return admin.DanglingKind_DANGLING_KIND_MOUNT_POINT
	case node.ShareNotMapped:
		return admin.DanglingKind_DANGLING_KIND_SHARE
	default:
		return admin.DanglingKind_DANGLING_KIND_LINK
	}
}

func inspectMappings(ctx context.Context, n *node.Node, response *admin.InspectResponse) error {
	mappings, err := n.SMB.Mappings(ctx)
	for _, m := range mappings {
		response.SmbMappings = append(response.SmbMappings, &admin.SMBMapping{RemotePath: m.RemotePath, Status: m.Status})
	}
	return err
}

func inspectSessions(ctx context.Context, n *node.Node, response *admin.InspectResponse) error {
	sessions, err := n.ISCSI.Sessions(ctx)
	for _, s := range sessions {
		response.IscsiSessions = append(response.IscsiSessions, &admin.ISCSISession{Target: s.Target, Connected: s.Connected})
	}
	return err
}
