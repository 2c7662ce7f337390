// SPDX-License-Identifier: Apache-2.0

package contract

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
	exists := func(path string) func(*exampleNode) error {
		return func(w *exampleNode) error { _, err := w.PathExists(path); return err }
	}
	isLink := func(path string) func(*exampleNode) error {
		return func(w *exampleNode) error { _, err := w.IsSymlink(path); return err }
	}
	mkdir := func(path string) func(*exampleNode) error {
		return func(w *exampleNode) error { return w.Mkdir(path) }
	}
	remove := func(path string, force bool) func(*exampleNode) error {
		return func(w *exampleNode) error { return w.Rmdir(path, force) }
	}
	empties := func(w *exampleNode) error { return w.RmdirContents(stagingDir) }
	link := func(w *exampleNode) error { return w.CreateSymlink(stagingDir, publishLink) }
	empty := func(w *exampleNode) { w.OK(w.Mkdir(stagingDir)) }
	filled := func(w *exampleNode) {
		w.OK(w.Mkdir(stagingDir + `\directory`))
		w.WriteFile(stagingDir+`\file`, "content")
	}
	return []kernelExample{
		{"PathExists", "a directory", nil, exists(plugins)},
		{"PathExists", "missing", nil, exists(stagingDir)},
		{"PathExists", "a mount point", withMount, exists(stagingDir)},
		{"Mkdir", "a directory and its parent", nil, mkdir(stagingDir + `\below`)},
		{"Mkdir", "there already", nil, mkdir(plugins)},
		{"Rmdir", "empty", empty, remove(stagingDir, false)},
		{"Rmdir", "force: missing", nil, remove(stagingDir, true)},
		{"Rmdir", "force: with a file and a directory", filled, remove(stagingDir, true)},
		{"Rmdir", "force: a mount point", withMount, remove(stagingDir, true)},
		{"Rmdir", "force: a link", linked, remove(publishLink, true)},
		{"RmdirContents", "with a file and a directory", filled, empties},
		{"RmdirContents", "empty", empty, empties},
		{"CreateSymlink", "to a directory", empty, link},
		{"CreateSymlink", "there already", linked, link},
		{"IsSymlink", "a directory", nil, isLink(plugins)},
		{"IsSymlink", "a link to a mount point", linked, isLink(publishLink)},
		{"IsSymlink", "a mount point", withMount, isLink(stagingDir)},
	}
}

// linked makes a publish link to a mount point.
func linked(w *exampleNode) {
	withMount(w)
	w.OK(w.CreateSymlink(stagingDir, publishLink))
}
