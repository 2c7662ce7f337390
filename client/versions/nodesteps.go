// SPDX-License-Identifier: Apache-2.0

package versions

// nodesteps is the nodesteps group, of which there is one version. The original has no such group.
func nodesteps() Group {
	return Group{Name: "nodesteps", Service: "Nodesteps", Hub: "v1alpha1"}
}
