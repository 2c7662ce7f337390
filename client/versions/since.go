// SPDX-License-Identifier: Apache-2.0

package versions

import "slices"

// Since is the first version in which the hub's method can be called, under whatever name: of disk and "GetDiskState",
// v1beta2.
func (g Group) Since(hubMethod string) string {
	for _, v := range g.Versions() {
		if slices.ContainsFunc(g.Of(v), func(r Route) bool { return r.Hub == hubMethod }) {
			return v
		}
	}
	return g.Hub
}
