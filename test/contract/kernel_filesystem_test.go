// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

const (
	plugins     = `C:\var\lib\kubelet\plugins`
	stagingDir  = plugins + `\staging`
	publishLink = `C:\var\lib\kubelet\pods\publish`
)

func filesystemVaries() map[string]string {
	return map[string]string{
		"PathExists": "with a link on the way, or if more than the last name is missing: then each directory on the way is opened and looked at.",
		"Mkdir":      "with the path: each directory on the way is opened and looked at.",
		"Rmdir": "with what is below a directory: entries are listed in buffers, and each is opened, looked at and " +
			"removed, until a listing finds none. For that, and for a mount point, each directory on the way is held by a " +
			"handle of its own. What lies more than twelve levels deep is moved up (Rename). After a sharing violation the " +
			"call is repeated for 2 s.",
		"RmdirContents": "as Rmdir.",
		"CreateSymlink": "as Mkdir, for the link.",
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
	deep := func(w *exampleNode) {
		linked(w)
		w.OK(w.Mkdir(plugins + below(11)))
		w.OK(w.Mkdir(stagingDir + below(12)))
	}
	return []kernelExample{
		{"PathExists", "a directory", nil, exists(plugins)},
		{"PathExists", "a directory, 6 deep", deep, exists(plugins + below(5))},
		{"PathExists", "a directory, 12 deep", deep, exists(plugins + below(11))},
		{"PathExists", "missing", nil, exists(node.KubeletDir + `\missing`)},
		{"PathExists", "missing, 6 deep", deep, exists(plugins + below(4) + `\missing`)},
		{"PathExists", "missing, 12 deep", deep, exists(plugins + below(10) + `\missing`)},
		{"PathExists", "missing, and its parent", nil, exists(stagingDir + `\missing`)},
		{"PathExists", "a mount point", withMount, exists(stagingDir)},
		{"PathExists", "1 below a link", deep, exists(publishLink + below(1))},
		{"PathExists", "6 below a link", deep, exists(publishLink + below(6))},
		{"PathExists", "12 below a link", deep, exists(publishLink + below(12))},
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

// below returns the path of so many directories below each other.
func below(levels int) string { return strings.Repeat(`\d`, levels) }

// linked makes a publish link to a mount point.
func linked(w *exampleNode) {
	withMount(w)
	w.OK(w.CreateSymlink(stagingDir, publishLink))
}
