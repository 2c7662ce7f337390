// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// get returns a part of a node, perhaps one that is of a path; empty: all parts of no path.
func get(n *emulated.Node, part, path string) (map[string]any, error) {
	ofPath := map[string]func() (any, error){
		"hostPath":   func() (any, error) { return n.HostPath(path) },
		"linkTarget": func() (any, error) { return n.Readlink(path) },
		"access":     func() (any, error) { return access(n, path) },
	}
	if of := ofPath[part]; of != nil {
		value, err := of()
		return map[string]any{part: value}, err
	}
	servers, portals := Network(n)
	parts := map[string]func() (any, error){
		"detachedDisks": func() (any, error) { return detachedDisks(n) },
		"services":      func() (any, error) { return serviceList(n), nil },
		"switches":      func() (any, error) { return switches(n), nil },
		"smbServers":    func() (any, error) { return servers, nil },
		"smbUsers":      func() (any, error) { return users(n), nil },
		"iscsiPortals":  func() (any, error) { return portals, nil },
	}
	if part != "" && parts[part] == nil {
		return nil, errdefs.NotFound.Errorf("NOT_FOUND", "a node has no %q", part)
	}
	found := map[string]any{}
	for name, of := range parts {
		if part != "" && part != name {
			continue
		}
		value, err := of()
		if err != nil {
			return nil, err
		}
		found[name] = value
	}
	return found, nil
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
	return listed(disks, func(d emulated.DetachedDisk) any {
		return map[string]any{"serial": d.SerialNumber, "size": d.SizeBytes, "bundle": d.Bundle}
	}), err
}

// Network returns the file servers, with the names of their shares, and the portals, with those of their targets.
func Network(n *emulated.Node) (files, storage []any) {
	now := n.Surroundings()
	return listed(now.SMB.Servers, func(s smb.Server) any {
			return map[string]any{"name": s.Name, "stopped": s.Stopped,
				"shares": listed(s.Shares, func(o smb.Share) any { return o.Name })}
		}), listed(now.ISCSI.Storage, func(p iscsi.Portal) any {
			return map[string]any{"address": p.At.Address, "port": uint32(p.At.Port),
				"connected": now.ISCSI.Reachable(p.At) != nil,
				"targets":   listed(p.Targets, func(t iscsi.Target) any { return t.Name })}
		})
}

// users returns the accounts of the file servers.
func users(n *emulated.Node) []any {
	return listed(n.Surroundings().SMB.Users, func(u smb.Account) any {
		return map[string]any{"name": u.Name, "domains": listed(u.Domains, func(d string) any { return d })}
	})
}

// serviceList returns the services, with what Change changes.
func serviceList(n *emulated.Node) []any {
	return listed(n.Surroundings().Services, func(s services.Service) any {
		return map[string]any{"name": s.Name, "state": states()[s.State],
			"start": s.StartType.String(), "pendingQueries": s.PendingQueries}
	})
}

func switches(n *emulated.Node) map[string]any {
	all := map[string]any{}
	for _, s := range n.Surroundings().Switches.List() {
		all[s.Name] = s.Value
	}
	return all
}
