// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const createSymbolicLink = "SeCreateSymbolicLinkPrivilege"

// Privileges returns the privileges that operations need. LocalSystem and administrators have them all unless a policy
// takes one away, but not all of them enabled.
//
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_set_reparse_point
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_reenumerate_devnode
// https://learn.microsoft.com/windows/win32/secauthz/privilege-constants
func Privileges() []*api.Privilege {
	return []*api.Privilege{
		{Name: createSymbolicLink, UserRight: "Create symbolic links",
			NeededFor: "links: CreateSymlink, and NewSmbGlobalMapping with a local path"},
		{Name: "SeLoadDriverPrivilege", UserRight: "Load and unload device drivers",
			NeededFor: "finding new disks: Rescan"},
		{Name: "SeManageVolumePrivilege", UserRight: "Perform volume maintenance tasks",
			NeededFor: "growing volumes: ResizeVolume"},
	}
}

// EnablePrivileges enables the privileges for this process, logs those that it does not have, and remembers them for
// MissingPrivileges. It is called once, before any operation: a privilege counts from the moment when it is enabled.
func (n *Node) EnablePrivileges(ctx context.Context) {
	k := kernel.Intercept(ctx, n.kernel, nil, n.config.Interceptor)
	logger := klog.FromContext(ctx)
	for _, p := range Privileges() {
		err := enablePrivilege(k, p.GetName())
		if errdefs.HasCode(err, win32.ERROR_NOT_ALL_ASSIGNED) {
			n.missing = append(n.missing, p)
		}
		if err != nil {
			logger.Error(err, "The agent lacks a privilege", "privilege", p.GetName(), "neededFor", p.GetNeededFor())
		}
	}
}

// enablePrivilege tries three times: one failure must not cost the agent its links until it is started again.
func enablePrivilege(k kernel.Kernel, name string) (err error) {
	for range 3 {
		err = k.EnablePrivilege(name)
		if err == nil || errdefs.HasCode(err, win32.ERROR_NOT_ALL_ASSIGNED) {
			break
		}
	}
	return err
}

// MissingPrivileges returns the privileges that the agent's account does not have.
func (n *Node) MissingPrivileges() []*api.Privilege { return n.missing }

// lacks reports whether the agent's account is known to lack a privilege.
func (n *Node) lacks(name string) bool {
	return slices.ContainsFunc(n.missing, func(p *api.Privilege) bool { return p.GetName() == name })
}
