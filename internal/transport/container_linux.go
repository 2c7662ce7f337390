// SPDX-License-Identifier: Apache-2.0

package transport

import "os"

// OwnContainer returns the Container of this process, "" if it is not known.
func OwnContainer() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	return cgroupOf(string(text))
}
