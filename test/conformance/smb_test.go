// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const share = `\\fs.emulated\share`

// mapped returns the shares that the node has mapped.
func (d *driver) mapped() []string {
	d.t.Helper()
	found, err := d.node.Emulated.SMBGlobalMappings()
	caller.OK(d.t, err)
	var shares []string
	for _, m := range found {
		shares = append(shares, m.RemotePath)
	}
	return shares
}
