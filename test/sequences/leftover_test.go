// SPDX-License-Identifier: Apache-2.0

package sequences

import "slices"

// leftover is the harmless difference that a retried operation leaves from an undisturbed one: the next stage begins
// with it and ends as always.
type leftover struct {
	Stuck     bool // all retries of unstaging fail
	Online    bool // the disk stays online
	Directory bool // the staging directory stays, empty and with nothing mounted
	Ungrown   bool // the volume stays smaller than its disk
}

// effects are the steps of a failed attempt that took effect, from which drivers tell what their retry leaves.
type effects []string

func (e effects) mounted() bool   { return slices.Contains(e, "MountVolume") }
func (e effects) resized() bool   { return slices.Contains(e, "ResizeVolume") }
func (e effects) unmounted() bool { return slices.Contains(e, "UnmountVolume") }
func (e effects) removed() bool   { return slices.Contains(e, "Rmdir") }
func (e effects) offline() bool   { return slices.Contains(e, "SetDiskState") }
