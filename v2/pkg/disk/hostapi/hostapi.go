// SPDX-License-Identifier: Apache-2.0

package api

import "fmt"

// GetDiskNumberWithID returns the number of the disk with exactly this page 83 identifier, as ListDiskIDs returns it.
func (d DiskAPI) GetDiskNumberWithID(page83ID string) (uint32, error) {
	all, err := d.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	for number, ids := range all {
		if page83ID != "" && ids.Page83 == page83ID {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk of this node has the page 83 identifier %q", page83ID)
}
