// SPDX-License-Identifier: Apache-2.0

package versions

import "github.com/kubernetes-csi/csi-proxy/client/apiversion"

// compare orders version names of our own tables, oldest first.
func compare(a, b string) int {
	return int(apiversion.NewVersionOrPanic(a).Compare(apiversion.NewVersionOrPanic(b)))
}
