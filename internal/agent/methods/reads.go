// SPDX-License-Identifier: Apache-2.0

package methods

import "slices"

// Reads reports whether a method, by its path on the wire, is known to change nothing on the node or on a server.
func Reads(path string) bool {
	of, ok := split(path[min(len(path), 1):])
	if !ok {
		return false
	}
	var names []string
	switch of.group {
	case "disk":
		names = []string{"listdisklocations", "listdiskids", "getdiskstats", "diskstats", "getdiskstate",
			"getattachstate", "getdisknumberbyname"}
	case "filesystem":
		names = []string{"pathexists", "issymlink", "ismountpoint"}
	case "iscsi":
		// DiscoverTargetPortal asks a server, and Windows keeps the answer
		names = []string{"listtargetportals", "gettargetdisks"}
	case "nodesteps":
		names = []string{"getvolume", "getusage"}
	case "system":
		names = []string{"getbiosserialnumber", "getservice"}
	case "volume":
		names = []string{
			"listvolumesondisk", "isvolumeformatted", "getvolumestats", "volumestats",
			"getdisknumberfromvolumeid", "getvolumedisknumber",
			"getvolumeidfromtargetpath", "getvolumeidfrommount", "getclosestvolumeidfromtargetpath",
		}
	}
	return slices.Contains(names, of.method)
}
