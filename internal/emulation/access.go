// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// accessMethods returns the method that shows the access lists of an emulated node.
func accessMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		server.Unary("GetAccess", server.LimitRead,
			func(_ context.Context, r *api.GetAccessRequest) (*api.GetAccessResponse, error) {
				entries, err := n.RootAccess(strings.TrimSuffix(r.GetWindowsPath(), `\`) + `\`)
				response := &api.GetAccessResponse{}
				for _, e := range entries {
					response.Entries = append(response.Entries, &api.Access{Sid: string(e.SID), Mask: e.Mask,
						Inherited: e.Flags&(win32.OBJECT_INHERIT_ACE|win32.CONTAINER_INHERIT_ACE) != 0})
				}
				return response, controlError(err)
			}),
	}
}
