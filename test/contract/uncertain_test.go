// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// TestLinkMadeDespiteAnError: Windows makes a link's directory and reports a failure. The caller must not be told that
// something else is in the link's place: it would believe that its call had no effect.
func TestLinkMadeDespiteAnError(t *testing.T) {
	const plugins = `C:\var\lib\kubelet\plugins`
	for name, fault := range map[string]testnode.Fault{
		"made":     {Function: "OpenFile", Skip: 4, Times: 1, Error: win32.ERROR_NOT_READY, After: true},
		"not made": {Function: "OpenFile", Skip: 4, Times: 1, Error: win32.ERROR_IO_DEVICE},
	} {
		t.Run(name, func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			n.Faults.Add(fault)
			_, err := n.Filesystem.CreateSymlink(t.Context(), &filesystem.CreateSymlinkRequest{SourcePath: plugins,
				TargetPath: plugins + `\link`})
			if code := status.Code(err); code != codes.Unavailable {
				t.Errorf("%v, want %v", err, codes.Unavailable)
			}
		})
	}
}
