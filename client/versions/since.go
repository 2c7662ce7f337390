// SPDX-License-Identifier: Apache-2.0

package versions

import "slices"

// Since returns the first version in which the hub's method can be called, under any name: v1beta2 for the disk group's
// "GetDiskState".
func (g Group) Since(hubMethod string) string {
	for _, v := range g.Versions() {
		if slices.ContainsFunc(g.Of(v), func(r Route) bool { return r.Hub == hubMethod }) {
			return v
		}
	}
	return g.Hub
}
