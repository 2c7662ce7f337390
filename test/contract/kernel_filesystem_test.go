// SPDX-License-Identifier: Apache-2.0

package contract

import filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"

const (
	plugins     = `C:\var\lib\kubelet\plugins`
	stagingDir  = plugins + `\staging`
	publishLink = `C:\var\lib\kubelet\pods\publish`
)

func filesystemVaries() map[string]string {
	return map[string]string{
		"PathExists": "with the path: each directory on the way is opened and looked at.",
		"Mkdir":      "as PathExists.",
		"Rmdir": "with what is below a directory: entries are listed in buffers, and each is opened, looked at and " +
			"removed, until a listing finds none. For that, and for a mount point, each directory on the way is held by a " +
			"handle of its own. What lies more than twelve levels deep is moved up (Rename). After a sharing violation the " +
			"call is repeated for 2 s.",
		"RmdirContents": "as Rmdir.",
		"CreateSymlink": "as PathExists, for the link.",
		"IsSymlink":     "as PathExists, and again for the link's target.",
	}
}

func filesystemExamples() []kernelExample {
	return []kernelExample{
		{"PathExists", "a directory", nil, pathExists(plugins)},
		{"PathExists", "missing", nil, pathExists(stagingDir)},
		{"PathExists", "a mount point", withMount, pathExists(stagingDir)},
		{"Mkdir", "a directory and its parent", nil, makeDirectory(stagingDir + `\below`)},
		{"Mkdir", "there already", nil, makeDirectory(plugins)},
		{"Rmdir", "empty", func(w *exampleNode) { w.must(makeDirectory(stagingDir)(w)) }, removeDirectory(stagingDir, false)},
		{"Rmdir", "force: missing", nil, removeDirectory(stagingDir, true)},
		{"Rmdir", "force: with a file and a directory", filled, removeDirectory(stagingDir, true)},
		{"Rmdir", "force: a mount point", withMount, removeDirectory(stagingDir, true)},
		{"Rmdir", "force: a link", linked, removeDirectory(publishLink, true)},
		{"RmdirContents", "with a file and a directory", filled, emptyDirectory},
		{"RmdirContents", "empty", func(w *exampleNode) { w.must(makeDirectory(stagingDir)(w)) }, emptyDirectory},
		{"CreateSymlink", "to a directory", func(w *exampleNode) { w.must(makeDirectory(stagingDir)(w)) }, createSymlink},
		{"CreateSymlink", "there already", linked, createSymlink},
		{"IsSymlink", "a directory", nil, askSymlink(plugins)},
		{"IsSymlink", "a link to a mount point", linked, askSymlink(publishLink)},
		{"IsSymlink", "a mount point", withMount, askSymlink(stagingDir)},
	}
}

// filled makes a directory with a file and a directory in it.
func filled(w *exampleNode) {
	w.must(makeDirectory(stagingDir + `\directory`)(w))
	w.WriteFile(stagingDir+`\file`, "content")
}

// linked makes a publish link to a mount point.
func linked(w *exampleNode) {
	withMount(w)
	w.must(createSymlink(w))
}

func pathExists(path string) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Filesystem.PathExists(w.ctx, &filesystemapi.PathExistsRequest{Path: path})
		return err
	}
}

func makeDirectory(path string) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Filesystem.Mkdir(w.ctx, &filesystemapi.MkdirRequest{Path: path})
		return err
	}
}

func removeDirectory(path string, force bool) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Filesystem.Rmdir(w.ctx, &filesystemapi.RmdirRequest{Path: path, Force: force})
		return err
	}
}

func emptyDirectory(w *exampleNode) error {
	_, err := w.Filesystem.RmdirContents(w.ctx, &filesystemapi.RmdirContentsRequest{Path: stagingDir})
	return err
}

func createSymlink(w *exampleNode) error {
	_, err := w.Filesystem.CreateSymlink(w.ctx, &filesystemapi.CreateSymlinkRequest{SourcePath: stagingDir,
		TargetPath: publishLink})
	return err
}

func askSymlink(path string) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Filesystem.IsSymlink(w.ctx, &filesystemapi.IsSymlinkRequest{Path: path})
		return err
	}
}
