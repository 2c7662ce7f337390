// SPDX-License-Identifier: Apache-2.0

package journal

import smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"

const share = `\\fs.emulated\share`

func smbVaries() map[string]string {
	return map[string]string{
		"NewSmbGlobalMapping": "with the local path: two calls for each directory on the way.",
	}
}

func smbExamples() []example {
	return []example{
		{"NewSmbGlobalMapping", "not mapped, without a local path", nil, mapShare(share, "", "csi-password")},
		{"NewSmbGlobalMapping", "not mapped, with a local path", nil, mapShare(share, staging, "csi-password")},
		{"NewSmbGlobalMapping", "mapped and linked already", func(w *world) {
			w.must(mapShare(share, staging, "csi-password")(w))
		}, mapShare(share, staging, "csi-password")},
		{"NewSmbGlobalMapping", "mapped with a password that the server refuses by now", func(w *world) {
			w.must(mapShare(share, "", "csi-password")(w))
			w.SetSMBPassword("csi", "new-password")
		}, mapShare(share, "", "new-password")},
		{"RemoveSmbGlobalMapping", "mapped", func(w *world) { w.must(mapShare(share, "", "csi-password")(w)) }, unmapShare},
		{"RemoveSmbGlobalMapping", "not mapped", nil, unmapShare},
	}
}

func mapShare(remote, local, password string) func(*world) error {
	return func(w *world) error {
		_, err := w.SMB.NewSmbGlobalMapping(w.ctx, &smbapi.NewSmbGlobalMappingRequest{
			RemotePath: remote, LocalPath: local, Username: `EMULATED\csi`, Password: password,
		})
		return err
	}
}

func unmapShare(w *world) error {
	_, err := w.SMB.RemoveSmbGlobalMapping(w.ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: share})
	return err
}
