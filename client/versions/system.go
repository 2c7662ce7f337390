// SPDX-License-Identifier: Apache-2.0

package versions

// system is the system group, of which there is one version.
func system() Group {
	return Group{Name: "system", Service: "System", Hub: "v1alpha1"}
}
