// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package recording

// ThisMachine returns the header of recordings of an emulated node: there is no other kernel here.
func ThisMachine(program string) Header { return OfEmulated(program) }
