// SPDX-License-Identifier: Apache-2.0

package emulated

import "errors"

// Two locks guard a node. Whoever may change the state directory has changes, from the beginning to the end of the
// call, so changes happen one after the other. The fields of the node, disks, volumes and open files belong to mu,
// which nobody takes before changes. Every entry from outside takes them once, by call, change, look, closing or
// control; everything inside relies on it.
//
// Most calls keep both until they end. These three give mu away in between, so that a caller who only looks at files
// waits for nobody else's disk:
//
//   - A change of files, by change, while it becomes durable. Others may see it before that, as on NTFS, whose log is lazy.
//     Nothing that they do about it is durable before it, because that is a change and has its turn later.
//   - An opening, while the host looks up names: another process of the host may have their directory in use.
//   - content.fileBytes, which gives away both, while it looks at the files of a volume.

// call runs a kernel call. Its error names the function and the object.
func (n *Node) call(function, object string, run func() error) error {
	n.changes.Lock()
	defer n.changes.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.settle(); err != nil {
		return failed(function, object, err)
	}
	return failed(function, object, run())
}

// change is call for a change of files. Others may look at files while it becomes durable.
func (n *Node) change(function, object string, run func() error) error {
	return n.call(function, object, func() error {
		n.host.meanwhile = &n.mu
		defer func() { n.host.meanwhile = nil }()
		return run()
	})
}

// look is call for what changes no file. It does not wait for the changes of others to become durable.
func (n *Node) look(function, object string, run func() error) error {
	n.mu.Lock()
	if n.restoring || n.host.failed { // see settle, which changes something
		n.mu.Unlock()
		return n.call(function, object, run)
	}
	defer n.mu.Unlock()
	return failed(function, object, run())
}

// closing runs a kernel call that closes a handle, which is possible whatever the state of the host.
func (n *Node) closing(object string, run func() error) error {
	n.changes.Lock()
	defer n.changes.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	return failed("CloseHandle", object, run())
}

// control runs a change from outside of the node: by its hardware, its network or an administrator. Afterwards handles
// on objects that are gone are invalid.
func (n *Node) control(change func() error) error {
	n.changes.Lock()
	defer n.changes.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.retireGone()
	if err := n.settle(); err != nil {
		return err
	}
	return change()
}

// aside asks the host something while others have the lock.
func (n *Node) aside(ask func()) {
	n.mu.Unlock()
	defer n.mu.Lock()
	ask()
}

// What an opening fails with inside the node when it must be tried in another way.
var (
	errNotMounted = errors.New("the file system is not mounted yet") // a look cannot change that
	errRenamed    = errors.New("a directory was renamed meanwhile")  // and the names of the path may be old
)
