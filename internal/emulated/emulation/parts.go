// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// Get returns a part of a node, perhaps one that is of a path; empty: all parts of no path. With an error it has what
// could be read.
func Get(n *emulated.Node, part, path string) (_ map[string]any, err error) {
	found := parts(n)
	switch part {
	case "":
		found["detachedDisks"], err = detachedDisks(n)
		return found, err
	case "detachedDisks":
		found[part], err = detachedDisks(n)
	case "hostPath":
		found[part], err = n.HostPath(path)
	case "linkTarget":
		found[part], err = n.Readlink(path)
	case "access":
		found[part], err = access(n, path)
	}
	if found[part] == nil {
		err = errdefs.NotFound.Errorf("NOT_FOUND", "a node has no %q", part)
	}
	return map[string]any{part: found[part]}, err
}

// parts returns the parts that an administrator or a test sets, with what Change changes.
func parts(n *emulated.Node) map[string]any {
	now, switches := n.Surroundings(), map[string]any{}
	for _, s := range now.Switches.List() {
		switches[s.Name] = s.Value
	}
	return map[string]any{
		"disks": listed(n.Disks(), func(d bundle.Record) any {
			return map[string]any{"number": d.Number, "serial": d.SerialNumber, "size": d.ImageBytes,
				"offline": d.Offline, "readOnly": d.ReadOnly}
		}),
		"switches": switches,
		"services": listed(now.Services, func(s services.Service) any {
			return map[string]any{"name": s.Name, "state": states()[s.State],
				"start": s.StartType.String(), "pendingQueries": s.PendingQueries}
		}),
		"smbUsers": listed(now.SMB.Users, func(u smb.User) any {
			return map[string]any{"name": u.Name, "domains": listed(u.Domains, func(d string) any { return d })}
		}),
		"smbServers": listed(now.SMB.Servers, func(s smb.Server) any {
			return map[string]any{"name": s.Name, "stopped": s.Stopped,
				"shares": listed(s.Shares, func(o smb.Share) any { return o.Name })}
		}),
		"iscsiPortals": listed(now.ISCSI.Storage, func(p iscsi.Portal) any {
			return map[string]any{"address": p.At.Address, "port": uint32(p.At.Port),
				"connected": now.ISCSI.Reachable(p.At) != nil,
				"targets":   listed(p.Targets, func(t iscsi.Target) any { return t.Name })}
		}),
	}
}

// access returns the access list of the root directory of the volume at a path.
func access(n *emulated.Node, path string) (any, error) {
	entries, err := n.RootAccess(strings.TrimSuffix(path, `\`) + `\`)
	return listed(entries, func(e win32.AccessEntry) any {
		return map[string]any{"sid": string(e.SID), "mask": e.Mask,
			"inherited": e.Flags&(win32.OBJECT_INHERIT_ACE|win32.CONTAINER_INHERIT_ACE) != 0}
	}), err
}

// listed returns a list for a document.
func listed[T any](list []T, as func(T) any) []any {
	all := []any{}
	for _, element := range list {
		all = append(all, as(element))
	}
	return all
}

func detachedDisks(n *emulated.Node) (any, error) {
	disks, err := n.DetachedDisks()
	return listed(disks, func(d bundle.Spec) any {
		return map[string]any{"serial": d.SerialNumber, "size": int64(d.SizeBytes), "bundle": d.BundlePath}
	}), err
}
