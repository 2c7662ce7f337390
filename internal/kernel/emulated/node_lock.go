// SPDX-License-Identifier: Apache-2.0

package emulated

// mu guards the node, its disks, volumes and open files, and the state directory. Every entry from outside takes it
// once, by call, closing or control, until the call ends; everything inside relies on it. Two give it away in between:
// content.fileBytes, while it looks at the files of a volume, and wait, while time passes.

// call runs a kernel call. Its error names the function and the object.
func (n *Node) call(function, object string, run func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.repair(); err != nil {
		return failed(function, object, err)
	}
	return failed(function, object, run())
}

// called is call for one that has an answer, which is the zero value beside an error.
func called[T any](n *Node, function, object string, run func() (T, error)) (T, error) {
	var answer, none T
	err := n.call(function, object, func() (err error) {
		answer, err = run()
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// closing runs a kernel call that closes a handle, which is possible whatever the state of the host.
func (n *Node) closing(object string, run func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return failed("CloseHandle", object, run())
}

// control runs a change from outside of the node: by its hardware, its network or an administrator. Afterwards handles
// on objects that are gone are invalid.
func (n *Node) control(change func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.retireGone()
	if err := n.repair(); err != nil {
		return err
	}
	return change()
}
