// SPDX-License-Identifier: Apache-2.0

package treeview

import "fmt"

// units returns the binary units, from the smallest.
func units() []string { return []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} }

// Size writes a number of bytes for people: three digits at least, one after the point at most, in the largest unit
// that leaves a whole part: "64 GiB", "63.9 GiB", "1023 MiB". It rounds down, so that nothing looks larger than it is.
func Size(bytes int64) string {
	if bytes < 0 {
		return "-" + Size(-max(bytes, -1<<62))
	}
	unit, n := 0, bytes
	for n >= 1024 && unit < len(units())-1 {
		n /= 1024
		unit++
	}
	tenths := int64(0)
	if unit > 0 {
		tenths = (bytes >> (10 * (unit - 1)) & 1023) * 10 / 1024
	}
	if tenths == 0 || n >= 1000 {
		return fmt.Sprintf("%d %s", n, units()[unit])
	}
	return fmt.Sprintf("%d.%d %s", n, tenths, units()[unit])
}
