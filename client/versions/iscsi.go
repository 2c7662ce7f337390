// SPDX-License-Identifier: Apache-2.0

package versions

// iscsi is the iscsi group. v1alpha2 added SetMutualChapSecret and changed nothing else.
func iscsi() Group {
	return Group{Name: "iscsi", Service: "Iscsi", Hub: "v1alpha2", Routes: []Route{
		{"v1alpha1", "AddTargetPortal", Same, "AddTargetPortal", nil},
		{"v1alpha1", "DiscoverTargetPortal", Same, "DiscoverTargetPortal", nil},
		{"v1alpha1", "RemoveTargetPortal", Same, "RemoveTargetPortal", nil},
		{"v1alpha1", "ListTargetPortals", Same, "ListTargetPortals", nil},
		{"v1alpha1", "ConnectTarget", Same, "ConnectTarget", nil},
		{"v1alpha1", "DisconnectTarget", Same, "DisconnectTarget", nil},
		{"v1alpha1", "GetTargetDisks", Same, "GetTargetDisks", nil},
	}}
}
