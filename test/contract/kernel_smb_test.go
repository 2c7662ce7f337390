// SPDX-License-Identifier: Apache-2.0

package contract

import "github.com/kubernetes-csi/csi-proxy/test/caller"

func smbVaries() map[string]string {
	return map[string]string{
		"NewSmbGlobalMapping": "with the local path: two calls for each directory on the way.",
	}
}

func smbExamples() []kernelExample {
	mapped := func(w *exampleNode) { w.OK(w.Map(caller.Share, "")) }
	linked := func(w *exampleNode) error { return w.Map(caller.Share, stagingDir) }
	remove := func(w *exampleNode) error { return w.RemoveSmbGlobalMapping(caller.Share) }
	return []kernelExample{
		{"NewSmbGlobalMapping", "not mapped, without a local path", nil,
			func(w *exampleNode) error { return w.Map(caller.Share, "") }},
		{"NewSmbGlobalMapping", "not mapped, with a local path", nil, linked},
		{"NewSmbGlobalMapping", "mapped and linked already", func(w *exampleNode) { w.OK(linked(w)) }, linked},
		{"NewSmbGlobalMapping", "mapped with a password that the server refuses by now", func(w *exampleNode) {
			mapped(w)
			w.SetSMBPassword(caller.User, "new-password")
		}, func(w *exampleNode) error {
			return w.NewSmbGlobalMapping(caller.Share, "", caller.User, "new-password")
		}},
		{"RemoveSmbGlobalMapping", "mapped", mapped, remove},
		{"RemoveSmbGlobalMapping", "not mapped", nil, remove},
	}
}
