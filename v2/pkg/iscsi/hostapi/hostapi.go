// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"

	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// TargetPortal is where an iSCSI target listens.
type TargetPortal struct {
	Address string `json:"TargetPortalAddress"`
	// Port is a TCP port; 0 is 3260.
	Port uint32 `json:"TargetPortalPortNumber"`
}

// wire returns the portal in the API's form; the node refuses a missing portal.
func (p *TargetPortal) wire() *iscsiv1alpha2.TargetPortal {
	if p == nil {
		return nil
	}
	return &iscsiv1alpha2.TargetPortal{TargetAddress: p.Address, TargetPort: p.Port}
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

// ConnectTarget logs in to a target. An existing session is success. The kinds of authentication are NONE,
// ONEWAYCHAP and MUTUALCHAP.
func (i ISCSIAPI) ConnectTarget(portal *TargetPortal, iqn string, auth string, chapUser string,
	chapSecret string) error {
	kind, ok := map[string]iscsiv1alpha2.AuthenticationType{
		"NONE":       iscsiv1alpha2.AuthenticationType_NONE,
		"ONEWAYCHAP": iscsiv1alpha2.AuthenticationType_ONE_WAY_CHAP,
		"MUTUALCHAP": iscsiv1alpha2.AuthenticationType_MUTUAL_CHAP,
	}[auth]
	if !ok {
		return machine.Invalid("iscsi", "ConnectTarget", "INVALID_AUTHENTICATION",
			fmt.Sprintf("%q is not a kind of authentication; use NONE, ONEWAYCHAP or MUTUALCHAP", auth))
	}
	_, err := call(i, iscsiv1alpha2.IscsiClient.ConnectTarget, &iscsiv1alpha2.ConnectTargetRequest{
		TargetPortal: portal.wire(), Iqn: iqn, AuthType: kind, ChapUsername: chapUser, ChapSecret: chapSecret,
	})
	return err
}
