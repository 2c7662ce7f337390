// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	api "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// NewSMBGlobalMapping maps a share and makes a link to it, as the proto says.
//
// An agent that dies between the link's directory and its target leaves an empty directory, which the retry refuses:
// nothing on the node shows that it is not a driver's. Only the driver knows, and removes it with Rmdir.
func (s *SMB) NewSMBGlobalMapping(ctx context.Context,
	r *api.NewSmbGlobalMappingRequest) (*api.NewSmbGlobalMappingResponse, error) {
	userName, password := r.GetUsername(), Secret(r.GetPassword())
	share, err := parseShare(r.GetRemotePath())
	if err == nil {
		err = checkCredentials(userName, password)
	}
	var link *winfs.DirectoryLink
	if err == nil && r.GetLocalPath() != "" {
		var at winpath.Path
		at, err = s.node.mayTake(s.node.path, r.GetLocalPath(), "made a link")
		link = linkToShare(at, share)
	}
	if err != nil {
		return nil, err
	}
	key := share.Key()
	what := operation.On("NewSmbGlobalMapping", operation.Share(key))
	what.Arguments = strings.Join(share.Rest, `\`)
	what.Credentials = s.node.operations.CredentialKey(userName, password)
	if link != nil {
		what.Objects = append(what.Objects, operation.Path(link.At))
	}
	return &api.NewSmbGlobalMappingResponse{}, s.node.do(ctx, what, func(o *op) error {
		if link != nil {
			if err := o.fs.LinkPossible(*link, o.node.lacks(createSymbolicLink)); err != nil {
				return err
			}
		}
		return o.withShare(key, winpath.Path{}, func(s *sharing) error {
			asked := s.known.Asked
			if err := s.ensureMapped(share, userName, password); err != nil {
				if !asked {
					s.ask(false)
				}
				return err
			}
			if link == nil {
				return nil
			}
			return o.fs.MakeLink(*link)
		})
	})
}

// RemoveSMBGlobalMapping unmaps a share, as the proto says, without asking its server. The mapping stays, which is
// success, for targets that steps recorded.
func (s *SMB) RemoveSMBGlobalMapping(ctx context.Context,
	r *api.RemoveSmbGlobalMappingRequest) (*api.RemoveSmbGlobalMappingResponse, error) {
	share, err := parseRemote(r.GetRemotePath())
	if err != nil {
		return nil, err
	}
	key := share.Key()
	what := operation.On("RemoveSmbGlobalMapping", operation.Share(key))
	what.Undoes = true
	return &api.RemoveSmbGlobalMappingResponse{}, s.node.do(ctx, what,
		func(o *op) error { return o.withShare(key, winpath.Path{}, (*sharing).release) })
}

// linkToShare returns a link to a share. Programs see the plain \\server\share\dir\, from which drivers take the share.
func linkToShare(at winpath.Path, share winpath.UNC) *winfs.DirectoryLink {
	readable := share.String() + `\`
	return &winfs.DirectoryLink{
		At: at, Substitute: `\??\UNC` + readable[1:], Print: readable,
		Same: func(t winpath.Target) bool {
			return t.Kind == winpath.TargetUNC && winpath.Fold(t.UNC.String()) == winpath.Fold(share.String())
		},
	}
}

// Look enters the shares to which links lead, in parallel and each for some seconds at most. It returns why a share
// could not be entered, by share; all of a silent server have one reason. Mappings can be removed meanwhile.
func (s *SMB) Look(ctx context.Context, links []ShareLink) (map[string]error, error) {
	return read(ctx, s.node, operation.On("LookIntoShares"), func(o *op) (map[string]error, error) {
		failures, silent, seen := map[string]error{}, map[string]error{}, map[string]int{}
		var rounds [2][]ShareLink // a server that is silent about its first share is not asked about the others
		for _, l := range links {
			server := serverOf(l.Share.Key())
			rounds[seen[server]] = append(rounds[seen[server]], l)
			seen[server] = 1
		}
		for _, round := range rounds {
			round = slices.DeleteFunc(round, func(l ShareLink) bool {
				why, known := silent[serverOf(l.Share.Key())]
				if known {
					failures[l.Share.Key()] = why
				}
				return known
			})
			for i, a := range forEach(o, round, func(l ShareLink) operation.Object { return operation.Share(l.Share.Key()) },
				func(o *op, l ShareLink) (struct{}, error) { return struct{}{}, o.lookIntoShare(l) }) {
				if a.Err != nil {
					failures[round[i].Share.Key()] = a.Err
				}
				if unreachable(a.Err) || errdefs.HasReason(a.Err, reason.NotAnswering) {
					silent[serverOf(round[i].Share.Key())] = a.Err
				}
			}
		}
		return failures, nil
	})
}

// lookIntoShare fails if the share behind a link does not let this node in. A directory that is missing there, and a
// mapping that has just been removed, are no failures of the mapping.
func (o *op) lookIntoShare(l ShareLink) error {
	err := o.fs.OpenShare(l.Share, l.At, winfs.Walk{Look: true})
	var e *errdefs.Error
	switch {
	case errdefs.IsMissing(err) || errors.As(err, &e) && e.Reason == reason.LinkRefused:
		return nil
	case err != nil && !errdefs.IsDenied(err):
		return err
	}
	mapping, listErr := o.mappingAfterUse(l.Share.Key(), nil, func() bool { return err == nil })
	if listErr == nil && mapping != nil && mapping.Status == win32.SMB_MAPPING_DISCONNECTED {
		return errdefs.Unauthenticated.Errorf(reason.InvalidCredentials,
			"the share %s is mapped without its credentials, as after a restart of Windows", l.Share.Key())
	}
	return err
}

// Targets returns where steps have staged volumes of shares, by share.
func (s *SMB) Targets(ctx context.Context) (map[string][]string, error) {
	return read(ctx, s.node, operation.On("ListShareUsers"), func(o *op) (map[string][]string, error) {
		users, err := o.recordedUsers(func(string, string) bool { return true })
		return users, recordError(err)
	})
}

// Mappings lists the SMB global mappings of all users, by share. It asks Windows, never a file server.
func (s *SMB) Mappings(ctx context.Context) ([]*admin.SMBMapping, error) {
	what := operation.On("ListSMBMappings", operation.SMBMappings)
	return read(ctx, s.node, what, func(o *op) ([]*admin.SMBMapping, error) {
		mappings, err := o.fs.Mappings()
		if err != nil {
			return nil, err
		}
		list := make([]*admin.SMBMapping, 0, len(mappings))
		for _, m := range mappings {
			list = append(list, &admin.SMBMapping{RemotePath: m.RemotePath, Status: win32.SMBMappingStatusName(m.Status)})
		}
		slices.SortFunc(list, func(a, b *admin.SMBMapping) int {
			return strings.Compare(a.GetRemotePath(), b.GetRemotePath())
		})
		return list, nil
	})
}
