// SPDX-License-Identifier: Apache-2.0

package node

// ISCSI is the iscsi group: it connects the node to iSCSI targets, whose logical units then are disks. It works through
// the Windows service MSiSCSI, which it does not start: while that service is not running, all methods fail with
// FailedPrecondition. Windows keeps all state, portals even over reboots, so nothing is remembered here.
//
// Targets are named by their iSCSI names, in upper or lower case.
type ISCSI struct{ node *Node }

var (
	portalFields = fields{"target_portal.target_address": NamesPortal}
	targetFields = fields{"target_portal.target_address": NamesPortal, "iqn": NamesTarget}
)

var iscsiMethods = []Method{
	changes("AddTargetPortal", LimitLong, (*ISCSI).AddTargetPortal, portalFields),
	// It asks a server, and Windows keeps the answer.
	fresh(changes("DiscoverTargetPortal", LimitLong, (*ISCSI).DiscoverTargetPortal, portalFields)),
	changes("RemoveTargetPortal", LimitWrite, (*ISCSI).RemoveTargetPortal, portalFields),
	reads("ListTargetPortals", (*ISCSI).ListTargetPortals, nil),
	changes("ConnectTarget", LimitLong, (*ISCSI).ConnectTarget, fields{
		"target_portal.target_address": NamesPortal, "iqn": NamesTarget, "chap_username": NamesNothing,
		"chap_secret": NamesNothing,
	}),
	changes("DisconnectTarget", LimitLong, (*ISCSI).DisconnectTarget, targetFields),
	reads("GetTargetDisks", (*ISCSI).GetTargetDisks, targetFields),
	changes("SetMutualChapSecret", LimitWrite, (*ISCSI).SetMutualCHAPSecret, fields{"MutualChapSecret": NamesNothing}),
}
