// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const share = `\\fs.emulated\share`

func (d *driver) mapShare(from, at, as, with string) error {
	d.t.Helper()
	return d.do("NewSmbGlobalMapping", values{remote: from, local: at, user: as, password: with})
}

func (d *driver) unmapShare(from string) error {
	d.t.Helper()
	return d.do("RemoveSmbGlobalMapping", values{remote: from})
}

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

func shareScenarios() map[string]scenario {
	return map[string]scenario{
		"NewSmbGlobalMapping": {
			success: func(d *driver) {
				at := d.unusedPath()
				caller.OK(d.t, d.mapShare(share, at, "csi", "csi-password"))
				same(d.t, d.mapped(), []string{share})
				d.write(at+`\file`, "shared")
				same(d.t, d.read(at+`\file`), "shared")
				caller.OK(d.t, d.unmapShare(share))
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown share", d.mapShare(`\\fs.emulated\none`, "", "csi", "csi-password"), codes.NotFound)
				wantCode(d.t, "an unknown server",
					d.mapShare(`\\none.emulated\share`, "", "csi", "csi-password"), codes.Unavailable)
				same(d.t, d.mapped(), nil)
			},
		},
		"RemoveSmbGlobalMapping": {
			success: func(d *driver) {
				caller.OK(d.t, d.mapShare(share, "", "csi", "csi-password"))
				caller.OK(d.t, d.unmapShare(share+`\a\directory`))
				same(d.t, d.mapped(), nil)
			},
			failure: func(d *driver) {
				caller.OK(d.t, d.mapShare(share, "", "csi", "csi-password"))
				d.node.Once("RemoveSMBGlobalMapping", win32.ERROR_OPEN_FILES)
				wantCode(d.t, "a mapping that cannot be removed", d.unmapShare(share), codes.Unavailable)
				same(d.t, d.mapped(), []string{share})
				caller.OK(d.t, d.unmapShare(share))
			},
		},
	}
}
