// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// An ISCSIDisk is a logical unit of an iSCSI target.
type ISCSIDisk struct {
	Address string // of the target's portal
	Port    uint32 // of the portal; 0: 3260
	IQN     string // the target's name
	LUN     uint32
}

func (d ISCSIDisk) portal() *csiproxy.TargetPortal {
	return &csiproxy.TargetPortal{TargetAddress: d.Address, TargetPort: d.Port}
}

// CHAP is how a node and an iSCSI target prove themselves to each other. The zero value means no authentication.
type CHAP struct {
	User, Secret string // of the node; without a user, the initiator's name is the user
	// MutualSecret is the secret by which the target proves itself as well; empty: it does not have to. Windows has one
	// for all targets: a login to a target with another one replaces it, and the sessions of other targets may not come
	// back after an outage.
	MutualSecret string
}

// String omits the secrets.
func (c CHAP) String() string { return c.User + " [redacted]" }

// GoString omits the secrets.
func (c CHAP) GoString() string { return c.String() }

// StageISCSI logs in to the target of a disk and stages the disk, see StageDisk. A session that exists is used,
// whatever the secrets; after a reboot, which ends all sessions, it is made again. The errors are those of StageDisk,
// and csiproxy.ErrCredentials.
func (m *Mounter) StageISCSI(ctx context.Context, disk ISCSIDisk, target string, chap CHAP,
	options StageOptions) (Device, error) {
	if chap.Secret == "" && (chap.User != "" || chap.MutualSecret != "") {
		return Device{}, fmt.Errorf("%w: a CHAP user or mutual secret without a secret", fs.ErrInvalid)
	}
	answer, err := m.client.ISCSI.GetTargetDisks(ctx,
		&csiproxy.GetTargetDisksRequest{TargetPortal: disk.portal(), Iqn: disk.IQN})
	if err != nil || len(answer.GetDiskIDs()) == 0 {
		if err := m.login(ctx, disk, chap); err != nil {
			return Device{}, err
		}
	}
	return m.StageDisk(ctx, ByISCSI(disk), target, options)
}

// UnstageISCSI unstages a disk, see Unstage, and logs out of its target, unless another disk of the target is in
// use: with the last of them, the node logs out. The portal stays registered, as other targets may be behind it. A call
// that stages another disk of the target at the same time may fail, and succeeds when it is repeated.
func (m *Mounter) UnstageISCSI(ctx context.Context, disk ISCSIDisk, target string) error {
	err := m.Unstage(ctx, target)
	if err == nil {
		_, err = m.client.ISCSI.DisconnectTarget(ctx,
			&csiproxy.DisconnectTargetRequest{TargetPortal: disk.portal(), Iqn: disk.IQN})
	}
	// without the initiator's service, as after a reboot, no session is left
	if e := (*csiproxy.Error)(nil); errors.As(err, &e) && e.Reason == reason.TargetInUse ||
		errors.Is(err, csiproxy.ErrServiceNotRunning) {
		return nil
	}
	return err
}

// login logs in to the target of a disk. Windows knows a target from a discovery.
func (m *Mounter) login(ctx context.Context, disk ISCSIDisk, chap CHAP) error {
	initiator, portal := m.client.ISCSI, disk.portal()
	if _, err := initiator.AddTargetPortal(ctx, &csiproxy.AddTargetPortalRequest{TargetPortal: portal}); err != nil {
		return err
	}
	if _, err := initiator.DiscoverTargetPortal(ctx,
		&csiproxy.DiscoverTargetPortalRequest{TargetPortal: portal}); err != nil {
		return err
	}
	request := &csiproxy.ConnectTargetRequest{TargetPortal: portal, Iqn: disk.IQN}
	if chap.Secret != "" {
		request.AuthType, request.ChapUsername, request.ChapSecret = csiproxy.AuthenticationType_ONE_WAY_CHAP, chap.User,
			chap.Secret
	}
	if chap.MutualSecret != "" {
		request.AuthType = csiproxy.AuthenticationType_MUTUAL_CHAP
		if _, err := initiator.SetMutualChapSecret(ctx,
			&csiproxy.SetMutualChapSecretRequest{MutualChapSecret: chap.MutualSecret}); err != nil {
			return err
		}
	}
	_, err := initiator.ConnectTarget(ctx, request)
	return err
}
