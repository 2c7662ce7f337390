// SPDX-License-Identifier: Apache-2.0

package contract

// servedNow are the groups and versions that this build serves.
func servedNow() []string {
	return []string{
		"disk v1", "disk v1alpha1", "disk v1beta1", "disk v1beta2", "disk v1beta3",
		"filesystem v1", "filesystem v1alpha1", "filesystem v1beta1", "filesystem v1beta2", "filesystem v2alpha1",
		"iscsi v1alpha1", "iscsi v1alpha2",
		"smb v1", "smb v1alpha1", "smb v1beta1", "smb v1beta2",
		"system v1alpha1",
		"volume v1", "volume v1alpha1", "volume v1beta1", "volume v1beta2", "volume v1beta3", "volume v2alpha1",
	}
}
