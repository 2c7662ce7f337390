// SPDX-License-Identifier: Apache-2.0

package contract

import smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"

const anyShare = `\\fs.emulated\share`

func smbVaries() map[string]string {
	return map[string]string{
		"NewSmbGlobalMapping": "with the local path: two calls for each directory on the way.",
	}
}

func smbExamples() []kernelExample {
	return []kernelExample{
		{"NewSmbGlobalMapping", "not mapped, without a local path", nil, mapRemote(anyShare, "", "csi-password")},
		{"NewSmbGlobalMapping", "not mapped, with a local path", nil, mapRemote(anyShare, stagingDir, "csi-password")},
		{"NewSmbGlobalMapping", "mapped and linked already", func(w *exampleNode) {
			w.must(mapRemote(anyShare, stagingDir, "csi-password")(w))
		}, mapRemote(anyShare, stagingDir, "csi-password")},
		{"NewSmbGlobalMapping", "mapped with a password that the server refuses by now", func(w *exampleNode) {
			w.must(mapRemote(anyShare, "", "csi-password")(w))
			w.SetSMBPassword("csi", "new-password")
		}, mapRemote(anyShare, "", "new-password")},
		{"RemoveSmbGlobalMapping", "mapped", func(w *exampleNode) { w.must(mapRemote(anyShare, "", "csi-password")(w)) },
			unmapRemote},
		{"RemoveSmbGlobalMapping", "not mapped", nil, unmapRemote},
	}
}

func mapRemote(remote, local, password string) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.SMB.NewSmbGlobalMapping(w.ctx, &smbapi.NewSmbGlobalMappingRequest{
			RemotePath: remote, LocalPath: local, Username: `EMULATED\csi`, Password: password,
		})
		return err
	}
}

func unmapRemote(w *exampleNode) error {
	_, err := w.SMB.RemoveSmbGlobalMapping(w.ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: anyShare})
	return err
}
