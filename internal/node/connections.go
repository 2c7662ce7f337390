// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"sort"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// SMBMapping is one SMB global mapping of the node; any program may have made it.
type SMBMapping struct {
	RemotePath string // \\server\share
	Status     string // in words: "OK", "disconnected"
}

// Mappings lists the SMB global mappings, by share. It asks Windows, never a file server.
func (s *SMB) Mappings(ctx context.Context) ([]SMBMapping, error) {
	return read(ctx, s.node, operation.On("ListSMBMappings", operation.SMBMappings), func(o *op) ([]SMBMapping, error) {
		mappings, err := o.mappings()
		if err != nil {
			return nil, err
		}
		list := make([]SMBMapping, 0, len(mappings))
		for _, m := range mappings {
			list = append(list, SMBMapping{RemotePath: m.RemotePath, Status: win32.SMBMappingStatusName(m.Status)})
		}
		sort.Slice(list, func(i, j int) bool { return list[i].RemotePath < list[j].RemotePath })
		return list, nil
	})
}

// ISCSISession is a login to a target.
type ISCSISession struct {
	Target    string
	Connected bool // it has a connection; otherwise the initiator keeps trying to make one
}

// Sessions lists the iSCSI sessions, by target. There are none while the iSCSI initiator service is not running.
func (s *ISCSI) Sessions(ctx context.Context) ([]ISCSISession, error) {
	return read(ctx, s.node, operation.On("ListISCSISessions", operation.ISCSIInitiator),
		func(o *op) ([]ISCSISession, error) {
			all, err := o.initiator().sessions()
			if err != nil && o.iscsiStopped(err) {
				return nil, nil
			}
			if err != nil {
				return nil, errdefs.Wrapf(err, "listing the iSCSI sessions")
			}
			sessions := make([]ISCSISession, 0, len(all))
			for _, session := range all {
				sessions = append(sessions, ISCSISession{Target: session.TargetName, Connected: len(session.Connections) > 0})
			}
			sort.Slice(sessions, func(i, j int) bool { return sessions[i].Target < sessions[j].Target })
			return sessions, nil
		})
}
