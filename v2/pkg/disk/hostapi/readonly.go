// SPDX-License-Identifier: Apache-2.0

package api

import "errors"

// errNoReadOnly is the error of calls that only the machine that the process runs on has.
var errNoReadOnly = errors.New("the agent's API has no call for the read-only attribute of a disk; SetDiskState " +
	"brings a disk online writable")

// SetDiskReadOnly makes a disk read-only or writable, whether it is online or not. The disk that Windows runs from is
// never made read-only. Through an agent, or another client than that of an inprocess.Node, an online disk can be made
// writable, which the API does with SetDiskState; everything else fails with errors.ErrUnsupported in the error.
func (d DiskAPI) SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error {
	ctx, node, err := d.at.Node()
	if err != nil {
		return err
	}
	if node != nil {
		return node.SetDiskReadOnly(ctx, diskNumber, isReadOnly)
	}
	online, err := d.GetDiskState(diskNumber)
	switch {
	case err != nil:
		return err
	case isReadOnly || !online:
		return errors.Join(errNoReadOnly, errors.ErrUnsupported)
	}
	return d.SetDiskState(diskNumber, true)
}

// GetDiskReadOnly reports whether a disk is read-only. Through an agent, or another client than that of an
// inprocess.Node, it fails with errors.ErrUnsupported in the error.
func (d DiskAPI) GetDiskReadOnly(diskNumber uint32) (bool, error) {
	ctx, node, err := d.at.Node()
	if err != nil {
		return false, err
	}
	if node == nil {
		return false, errors.Join(errNoReadOnly, errors.ErrUnsupported)
	}
	return node.GetDiskReadOnly(ctx, diskNumber)
}
