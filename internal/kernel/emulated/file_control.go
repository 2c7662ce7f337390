// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// HostPath returns the path on the host of a Windows path. Links and mount points are followed as for a process on the
// node, even as the last name; the last name may be missing.
func (n *Node) HostPath(winPath string) (string, error) {
	return called(n, "CreateFileW", winPath, func() (string, error) {
		at, err := n.lookUp(winPath, true)
		if err != nil {
			return "", err
		}
		defer at.close()
		return at.hostPath(), nil
	})
}

func (n *Node) lookUp(winPath string, follow bool) (*place, error) {
	p, err := parseWin32(winPath)
	if err != nil {
		return nil, err
	}
	return n.resolve(p, follow)
}

// Readlink returns the target of a link or mount point, as shown to people. Anything else is
// ERROR_NOT_A_REPARSE_POINT.
func (n *Node) Readlink(winPath string) (string, error) {
	return called(n, "FSCTL_GET_REPARSE_POINT", winPath, func() (string, error) { return n.readlink(winPath) })
}

func (n *Node) readlink(winPath string) (string, error) {
	at, err := n.lookUp(winPath, false)
	if err != nil {
		return "", err
	}
	defer at.close()
	switch {
	case at.dir == nil || at.entry != nil && at.entry.tag == 0:
		return "", win32.ERROR_NOT_A_REPARSE_POINT
	case at.entry == nil:
		return "", win32.ERROR_FILE_NOT_FOUND
	}
	r, err := at.entry.reparse()
	switch {
	case err != nil:
		return "", err
	case r.PrintName != "":
		return r.PrintName, nil
	case strings.HasPrefix(r.SubstituteName, ntPrefix+"Volume{"):
		return verbatimPrefix + strings.TrimPrefix(r.SubstituteName, ntPrefix), nil
	case r.SubstituteName != "":
		return strings.TrimPrefix(r.SubstituteName, ntPrefix), nil
	}
	return "", win32.ERROR_CANT_ACCESS_FILE
}
