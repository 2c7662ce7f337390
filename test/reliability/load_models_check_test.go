// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// TestModels checks the models with invented histories: those that no order explains must be found.
func TestModels(t *testing.T) {
	call := func(verb, what, result string, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: input{verb, what}, Output: output{result}, Call: from, Return: to}
	}
	const later = 1 << 40
	for _, c := range []struct {
		name    string
		model   porcupine.Model
		history []porcupine.Operation
		want    bool
	}{
		{"one after the other", model("absent", mountPoint), []porcupine.Operation{
			call("MountVolume", "a", ok, 0, 1), call("GetVolumeIDFromTargetPath", "", "a", 2, 3),
			call("MountVolume", "b", refused, 4, 5),
		}, true},
		{"two volumes at one path", model("absent", mountPoint), []porcupine.Operation{
			call("MountVolume", "a", ok, 0, 1), call("MountVolume", "b", ok, 2, 3),
		}, false},
		{"a lost mount", model("absent", mountPoint), []porcupine.Operation{
			call("MountVolume", "a", ok, 0, 1), call("GetVolumeIDFromTargetPath", "", "absent", 2, 3),
		}, false},
		{"an unclear mount that was made", model("absent", mountPoint), []porcupine.Operation{
			call("MountVolume", "a", unclear, 0, later), call("GetVolumeIDFromTargetPath", "", "a", 2, 3),
		}, true},
		{"an unclear mount that comes and goes", model("absent", mountPoint), []porcupine.Operation{
			call("MountVolume", "a", unclear, 0, later), call("GetVolumeIDFromTargetPath", "", "a", 2, 3),
			call("GetVolumeIDFromTargetPath", "", "absent", 4, 5),
		}, false},
		{"a stale answer", model("online", diskState), []porcupine.Operation{
			call("SetDiskState", "offline", ok, 0, 1), call("GetDiskState", "", "online", 2, 3),
		}, false},
		{"answers at the same time", model("online", diskState), []porcupine.Operation{
			call("SetDiskState", "offline", ok, 0, 5), call("GetDiskState", "", "online", 1, 2),
			call("GetDiskState", "", "offline", 3, 4),
		}, true},
		{"a directory that comes back", model("absent", directory), []porcupine.Operation{
			call("Mkdir", "", ok, 0, 1), call("Rmdir", "", ok, 2, 3), call("PathExists", "", "there", 4, 5),
		}, false},
		{"half a link", model("absent", linkModel, "stub"), []porcupine.Operation{
			call("CreateSymlink", "a", unclear, 0, later), call("CreateSymlink", "a", refused, 2, 3),
			call("PathExists", "", "there", 4, 5),
		}, true},
	} {
		if got := porcupine.CheckOperations(c.model, c.history); got != c.want {
			t.Errorf("%s: explained=%t, want %t", c.name, got, c.want)
		}
	}
}
