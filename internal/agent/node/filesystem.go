// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"

// Filesystem is the filesystem group: directories and links in the working directories.
type Filesystem struct{ node *Node }

var filesystemMethods = []Method{
	reads("PathExists", (*Filesystem).PathExists, fields{"path": NamesPath}),
	reads("IsSymlink", (*Filesystem).IsSymlink, fields{"path": NamesPath}),
	changes("Mkdir", LimitWrite, (*Filesystem).Mkdir, fields{"path": NamesPath}),
	changes("Rmdir", LimitWrite, (*Filesystem).Rmdir, fields{"path": NamesPath}),
	changes("RmdirContents", LimitWrite, (*Filesystem).RmdirContents, fields{"path": NamesPath}),
	changes("CreateSymlink", LimitWrite, (*Filesystem).CreateSymlink,
		fields{"source_path": NamesPath, "target_path": NamesPath}),
}

// path parses a path argument of the filesystem group, in which / does not separate names.
func (n *Node) path(text string) (winpath.Path, error) {
	return n.policy.ParsePath(text, winpath.Options{})
}

// mayTake parses the path of what is made, replaced or removed, and refuses one that is not for taking.
func (n *Node) mayTake(parse func(string) (winpath.Path, error), text, done string) (winpath.Path, error) {
	path, err := parse(text)
	if err == nil {
		err = n.policy.MayTake(path, done)
	}
	return path, err
}

// linkPaths parses the paths of a link that is made: that to which it leads, and its own.
func (n *Node) linkPaths(parse func(string) (winpath.Path, error), from, at string) (source, link winpath.Path,
	err error) {
	if source, err = parse(from); err == nil {
		err = n.policy.MayLinkTo(source, "linked to")
	}
	if err == nil {
		link, err = n.mayTake(parse, at, "made a link")
	}
	return source, link, err
}

// slashedPath parses a path argument that may have / for \.
func (n *Node) slashedPath(text string) (winpath.Path, error) {
	return n.policy.ParsePath(text, winpath.Options{ForwardSlash: true})
}
