// SPDX-License-Identifier: Apache-2.0

package versions

// smb is the smb group. The error field of the old responses stays empty: failures travel as status.
func smb() Group {
	const inBandError = "v1alpha1 v1beta1"
	return Group{Name: "smb", Service: "Smb", Hub: "v1", Routes: []Route{
		{inBandError, "NewSmbGlobalMapping", Extra, "NewSmbGlobalMapping", nil},
		{inBandError, "RemoveSmbGlobalMapping", Extra, "RemoveSmbGlobalMapping", nil},
		{"v1beta2", "NewSmbGlobalMapping", Same, "NewSmbGlobalMapping", nil},
		{"v1beta2", "RemoveSmbGlobalMapping", Same, "RemoveSmbGlobalMapping", nil},
	}}
}
