// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"slices"

	steps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
)

// pathCall is a call of a method with a path. What else it names is harmless.
type pathCall struct {
	name string
	do   func(path string) error
}

// pathCalls are all methods that take a path, once for each of their paths; fine is the other path.
func (g *target) pathCalls(fine string) []pathCall {
	return []pathCall{
		{"PathExists", func(path string) error { return only(g.PathExists(path)) }},
		{"IsSymlink", func(path string) error { return only(g.IsSymlink(path)) }},
		{"Mkdir", g.Mkdir},
		{"Rmdir", func(path string) error { return g.Rmdir(path, true) }},
		{"RmdirContents", g.RmdirContents},
		{"CreateSymlink", func(path string) error { return g.CreateSymlink(fine, path) }},
		{"CreateSymlink to", func(path string) error { return g.CreateSymlink(path, fine) }},
		{"MountVolume", func(path string) error { return g.MountVolume(g.volume, path) }},
		{"UnmountVolume", func(path string) error { return g.UnmountVolume(g.volume, path) }},
		{"GetVolumeIDFromTargetPath", func(path string) error { return only(g.GetVolumeIDFromTargetPath(path)) }},
		{"GetClosestVolumeIDFromTargetPath", func(path string) error {
			return only(g.GetClosestVolumeIDFromTargetPath(path))
		}},
		{"StageDisk", func(path string) error { return g.StageDisk(1, path) }},
		{"StageShare", func(path string) error { return g.StageShare(share, path) }},
		{"Unstage", g.Unstage},
		{"Publish", func(path string) error { return g.Publish(fine, path) }},
		{"Expand", func(path string) error {
			return only(g.Steps().Expand(g.t.Context(), &steps.ExpandRequest{TargetPath: path}))
		}},
		{"GetVolume", func(path string) error {
			return only(g.Steps().GetVolume(g.t.Context(), &steps.GetVolumeRequest{TargetPath: path}))
		}},
	}
}

// callsNamed picks some of them.
func (g *target) callsNamed(fine string, names ...string) []pathCall {
	return slices.DeleteFunc(g.pathCalls(fine), func(c pathCall) bool { return !slices.Contains(names, c.name) })
}

// only drops an answer.
func only[T any](_ T, err error) error { return err }
