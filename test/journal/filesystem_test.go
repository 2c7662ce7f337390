// SPDX-License-Identifier: Apache-2.0

package journal

import filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"

const (
	plugins = `C:\var\lib\kubelet\plugins`
	staging = plugins + `\staging`
	publish = `C:\var\lib\kubelet\pods\publish`
)

func filesystemVaries() map[string]string {
	return map[string]string{
		"PathExists":    "with the path: two calls for each directory on the way.",
		"Mkdir":         "as PathExists.",
		"Rmdir":         "with what is below a directory: entries are listed by buffers, each opened, looked at and removed. A sharing violation is tried again for 2 s.",
		"RmdirContents": "as Rmdir.",
		"CreateSymlink": "as PathExists, for the link.",
		"IsSymlink":     "as PathExists, and again for what the link leads to.",
	}
}

func filesystemExamples() []example {
	return []example{
		{"PathExists", "a directory", nil, pathExists(plugins)},
		{"PathExists", "missing", nil, pathExists(staging)},
		{"PathExists", "a mount point", mounted, pathExists(staging)},
		{"Mkdir", "a directory and its parent", nil, mkdir(staging + `\below`)},
		{"Mkdir", "there already", nil, mkdir(plugins)},
		{"Rmdir", "empty", func(w *world) { w.must(mkdir(staging)(w)) }, rmdir(staging, false)},
		{"Rmdir", "force: missing", nil, rmdir(staging, true)},
		{"Rmdir", "force: with a file and a directory", filled, rmdir(staging, true)},
		{"Rmdir", "force: a mount point", mounted, rmdir(staging, true)},
		{"Rmdir", "force: a link", linked, rmdir(publish, true)},
		{"RmdirContents", "with a file and a directory", filled, rmdirContents},
		{"RmdirContents", "empty", func(w *world) { w.must(mkdir(staging)(w)) }, rmdirContents},
		{"CreateSymlink", "to a directory", func(w *world) { w.must(mkdir(staging)(w)) }, createSymlink},
		{"CreateSymlink", "there already", linked, createSymlink},
		{"IsSymlink", "a directory", nil, isSymlink(plugins)},
		{"IsSymlink", "a link to a mount point", linked, isSymlink(publish)},
		{"IsSymlink", "a mount point", mounted, isSymlink(staging)},
	}
}

// filled makes a directory with a file and a directory in it.
func filled(w *world) {
	w.must(mkdir(staging + `\directory`)(w))
	w.WriteFile(staging+`\file`, "content")
}

// linked makes a publish link to a mount point.
func linked(w *world) {
	mounted(w)
	w.must(createSymlink(w))
}

func pathExists(path string) func(*world) error {
	return func(w *world) error {
		_, err := w.Filesystem.PathExists(w.ctx, &filesystemapi.PathExistsRequest{Path: path})
		return err
	}
}

func mkdir(path string) func(*world) error {
	return func(w *world) error {
		_, err := w.Filesystem.Mkdir(w.ctx, &filesystemapi.MkdirRequest{Path: path})
		return err
	}
}

func rmdir(path string, force bool) func(*world) error {
	return func(w *world) error {
		_, err := w.Filesystem.Rmdir(w.ctx, &filesystemapi.RmdirRequest{Path: path, Force: force})
		return err
	}
}

func rmdirContents(w *world) error {
	_, err := w.Filesystem.RmdirContents(w.ctx, &filesystemapi.RmdirContentsRequest{Path: staging})
	return err
}

func createSymlink(w *world) error {
	_, err := w.Filesystem.CreateSymlink(w.ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: staging, TargetPath: publish})
	return err
}

func isSymlink(path string) func(*world) error {
	return func(w *world) error {
		_, err := w.Filesystem.IsSymlink(w.ctx, &filesystemapi.IsSymlinkRequest{Path: path})
		return err
	}
}
