// SPDX-License-Identifier: Apache-2.0

package windows

import "slices"

// multiString splits a MULTI_SZ into its strings, without their NULs: each string ends with a NUL, and the list with an
// empty string. Anything after that is ignored; a list whose end is missing ends with the buffer.
func multiString(s []uint16) [][]uint16 {
	var all [][]uint16
	for len(s) > 0 && s[0] != 0 {
		end := slices.Index(s, 0)
		if end < 0 {
			return append(all, s)
		}
		all, s = append(all, s[:end]), s[end+1:]
	}
	return all
}
