// SPDX-License-Identifier: Apache-2.0

package versions

// iscsi is the iscsi group. v1alpha2 added SetMutualChapSecret and changed nothing else.
func iscsi() Group {
	return Group{Name: "iscsi", Service: "Iscsi", Hub: "v1alpha2", Routes: same("v1alpha1",
		"AddTargetPortal DiscoverTargetPortal RemoveTargetPortal ListTargetPortals ConnectTarget DisconnectTarget "+
			"GetTargetDisks")}
}

// nodesteps is the nodesteps group, of which there is one version.
func nodesteps() Group {
	return Group{Name: "nodesteps", Service: "NodeSteps", Hub: "v1alpha1", Own: true}
}

// smb is the smb group. The error field of the old responses stays empty: failures travel as status.
func smb() Group {
	const inBandError = "v1alpha1 v1beta1"
	return Group{Name: "smb", Service: "Smb", Hub: "v1", Routes: append([]Route{
		{inBandError, "NewSmbGlobalMapping", Extra, "NewSmbGlobalMapping", nil},
		{inBandError, "RemoveSmbGlobalMapping", Extra, "RemoveSmbGlobalMapping", nil},
	}, same("v1beta2", "NewSmbGlobalMapping RemoveSmbGlobalMapping")...)}
}

// system is the system group, of which there is one version.
func system() Group {
	return Group{Name: "system", Service: "System", Hub: "v1alpha1"}
}
