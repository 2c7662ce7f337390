// SPDX-License-Identifier: Apache-2.0

package hostapi

import iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"

// AddTargetPortal registers a portal. A portal that is already registered is success.
func (i ISCSIAPI) AddTargetPortal(portal *TargetPortal) error {
	_, err := call(i, iscsiv1alpha2.IscsiClient.AddTargetPortal,
		&iscsiv1alpha2.AddTargetPortalRequest{TargetPortal: portal.wire()})
	return err
}

// DiscoverTargetPortal asks a registered portal for its targets, and returns their names.
func (i ISCSIAPI) DiscoverTargetPortal(portal *TargetPortal) ([]string, error) {
	r, err := call(i, iscsiv1alpha2.IscsiClient.DiscoverTargetPortal,
		&iscsiv1alpha2.DiscoverTargetPortalRequest{TargetPortal: portal.wire()})
	return r.GetIqns(), err
}

// ListTargetPortals returns the registered portals.
func (i ISCSIAPI) ListTargetPortals() ([]TargetPortal, error) {
	r, err := call(i, iscsiv1alpha2.IscsiClient.ListTargetPortals, &iscsiv1alpha2.ListTargetPortalsRequest{})
	if err != nil {
		return nil, err
	}
	portals := make([]TargetPortal, 0, len(r.GetTargetPortals()))
	for _, p := range r.GetTargetPortals() {
		portals = append(portals, TargetPortal{Address: p.GetTargetAddress(), Port: p.GetTargetPort()})
	}
	return portals, nil
}

// RemoveTargetPortal forgets a registered portal. A portal that is not registered is success.
func (i ISCSIAPI) RemoveTargetPortal(portal *TargetPortal) error {
	_, err := call(i, iscsiv1alpha2.IscsiClient.RemoveTargetPortal,
		&iscsiv1alpha2.RemoveTargetPortalRequest{TargetPortal: portal.wire()})
	return err
}

// ConnectTarget logs in to a target. An existing session is success. The kinds of authentication are NONE,
// ONEWAYCHAP and MUTUALCHAP.
func (i ISCSIAPI) ConnectTarget(portal *TargetPortal, iqn string, auth string, chapUser string,
	chapSecret string) error {
	kind, err := authType(auth)
	if err != nil {
		return err
	}
	_, err = call(i, iscsiv1alpha2.IscsiClient.ConnectTarget, &iscsiv1alpha2.ConnectTargetRequest{
		TargetPortal: portal.wire(), Iqn: iqn, AuthType: kind, ChapUsername: chapUser, ChapSecret: chapSecret,
	})
	return err
}

// DisconnectTarget logs out of a target. Without a session it is success.
func (i ISCSIAPI) DisconnectTarget(portal *TargetPortal, iqn string) error {
	_, err := call(i, iscsiv1alpha2.IscsiClient.DisconnectTarget,
		&iscsiv1alpha2.DisconnectTargetRequest{TargetPortal: portal.wire(), Iqn: iqn})
	return err
}

// GetTargetDisks returns the numbers of a target's disks in decimal, none without a session.
func (i ISCSIAPI) GetTargetDisks(portal *TargetPortal, iqn string) ([]string, error) {
	r, err := call(i, iscsiv1alpha2.IscsiClient.GetTargetDisks,
		&iscsiv1alpha2.GetTargetDisksRequest{TargetPortal: portal.wire(), Iqn: iqn})
	return r.GetDiskIDs(), err
}

// SetMutualChapSecret sets the secret, of 12 to 16 bytes, by which targets prove themselves to the node.
func (i ISCSIAPI) SetMutualChapSecret(mutualChapSecret string) error {
	_, err := call(i, iscsiv1alpha2.IscsiClient.SetMutualChapSecret,
		&iscsiv1alpha2.SetMutualChapSecretRequest{MutualChapSecret: mutualChapSecret})
	return err
}
