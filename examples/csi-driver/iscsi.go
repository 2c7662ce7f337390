// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// An iscsiVolume is a volume on a logical unit of an iSCSI target. Kubelet unstages a volume by its id alone, so the id says
// where it is: ADDRESS:PORT,IQN,LUN.
type iscsiVolume struct {
	portal *csiproxy.TargetPortal
	iqn    string
	lun    uint32
}

// iscsiOf returns the place of a volume, or false if it is not at an iSCSI target.
func iscsiOf(volumeID string) (v iscsiVolume, ok bool) {
	parts := strings.Split(volumeID, ",")
	if len(parts) != 3 {
		return v, false
	}
	host, port, hostErr := net.SplitHostPort(parts[0])
	number, portErr := strconv.ParseUint(port, 10, 16)
	lun, lunErr := strconv.ParseUint(parts[2], 10, 32)
	if hostErr != nil || portErr != nil || lunErr != nil {
		return v, false
	}
	return iscsiVolume{&csiproxy.TargetPortal{TargetAddress: host, TargetPort: uint32(number)}, parts[1], uint32(lun)}, true
}

func (v iscsiVolume) match() mounter.Match {
	return mounter.ByISCSI(v.portal.GetTargetAddress(), v.portal.GetTargetPort(), v.iqn, v.lun)
}

// connect logs in to the volume's target, with CHAP if there are credentials. It can be repeated, as after a reboot, which ends
// all sessions.
func (d *driver) connect(ctx context.Context, v iscsiVolume, c mounter.Credentials) error {
	_, err := d.iscsi.AddTargetPortal(ctx, &csiproxy.AddTargetPortalRequest{TargetPortal: v.portal})
	if err == nil {
		_, err = d.iscsi.DiscoverTargetPortal(ctx, &csiproxy.DiscoverTargetPortalRequest{TargetPortal: v.portal})
	}
	if err != nil {
		return err
	}
	login := &csiproxy.ConnectTargetRequest{TargetPortal: v.portal, Iqn: v.iqn}
	if c.User != "" {
		login.AuthType, login.ChapUsername, login.ChapSecret = csiproxy.AuthenticationType_ONE_WAY_CHAP, c.User, c.Password
	}
	_, err = d.iscsi.ConnectTarget(ctx, login)
	return err
}

// disconnect logs out of the volume's target, unless another of its volumes is in use, with which it will be logged out of.
func (d *driver) disconnect(ctx context.Context, v iscsiVolume) error {
	_, err := d.iscsi.DisconnectTarget(ctx, &csiproxy.DisconnectTargetRequest{TargetPortal: v.portal, Iqn: v.iqn})
	if status.Code(err) == codes.FailedPrecondition {
		return nil
	}
	return err
}
