// SPDX-License-Identifier: Apache-2.0

package sequences

import "slices"

// leftover is what a retried operation leaves otherwise than an undisturbed one, without harm: the next stage begins
// from it and ends where it always does.
type leftover struct {
	Stuck     bool // the retries of unstaging fail for ever
	Online    bool // the disk stays online
	Directory bool // the staging directory stays, empty and with nothing mounted
	Ungrown   bool // the volume stays smaller than its disk
}

// effects are the steps of a failed attempt that took effect, from which drivers say what their retry leaves.
type effects []string

func (e effects) mounted() bool   { return slices.Contains(e, "MountVolume") }
func (e effects) resized() bool   { return slices.Contains(e, "ResizeVolume") }
func (e effects) unmounted() bool { return slices.Contains(e, "UnmountVolume") }
func (e effects) removed() bool   { return slices.Contains(e, "Rmdir") }
func (e effects) offline() bool   { return slices.Contains(e, "SetDiskState") }
