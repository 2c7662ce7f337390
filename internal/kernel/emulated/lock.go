// SPDX-License-Identifier: Apache-2.0

package emulated

// One lock guards all of a node: node.json, disks, volumes, open files, services. Whoever comes from outside takes it,
// once, by call or control; everything inside relies on it. There is one exception: content.fileBytes lets go of it
// while it looks at the files of a volume, which may take long.
//
// A node that works on one thing at a time is easier to keep right than one that is fast, and its calls are short.

// call runs a call of the kernel, whose function and object its error names.
func (n *Node) call(function, object string, run func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return failed(function, object, run())
}

// control runs a change from outside of the node, by its hardware, its network or an administrator. What was open on
// something that is gone then is dead.
func (n *Node) control(change func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.retireGone()
	return change()
}
