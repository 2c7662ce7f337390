// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package recording

// ThisMachine returns the header of recordings of an emulated node, the only kernel on this system.
func ThisMachine(program string) Header { return OfEmulated(program) }
