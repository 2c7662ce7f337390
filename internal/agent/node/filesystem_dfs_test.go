// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A DFS folder answers so to whatever opens a file below the link to it.
func TestErrorsBelowALinkNameDFS(t *testing.T) {
	var dfs atomic.Bool
	n, _ := smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if dfs.Load() && onShareOf("share")(call) {
			return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_HOST_UNREACHABLE}
		}
		return do()
	})
	link := testLink + `share`
	must(t, by(t.Context(), n).NewSmbGlobalMapping(testShare, link, "csi", "csi-password"))
	dfs.Store(true)
	_, exists := by(t.Context(), n).PathExists(link + `\dir`)
	volume, err := n.Steps.GetVolume(t.Context(), &nodesteps.GetVolumeRequest{TargetPath: link})
	must(t, err)
	for call, err := range map[string]error{
		"PathExists": exists, "GetVolume": errors.New(volume.GetMessage()),
		"CreateSymlink": by(t.Context(), n).CreateSymlink(link+`\dir`, KubeletDir+`\pods\link`),
	} {
		if err == nil || strings.Count(err.Error(), "if it is a DFS namespace") != 1 {
			t.Errorf("%s: got %v", call, err)
		}
	}
}
