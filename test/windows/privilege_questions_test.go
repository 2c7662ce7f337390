// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// privilegeQuestions come first: a privilege can be enabled only once, and others need it.
func privilegeQuestions() []Question {
	return []Question{
		{27, "What becomes of a link that FSCTL_SET_REPARSE_POINT makes before the privilege is enabled, and does a handle " +
			"count that was opened before?", askPrivileges},
	}
}

func askPrivileges(q *inquiry) {
	link := reparse.Symlink(mountParent).Bytes()
	answers := note(q, map[string]string{})
	early := q.emptyDirectory()
	defer early.Close()
	answers["link, before"] = verdict(send(early, win32.FSCTL_SET_REPARSE_POINT, link))
	for _, p := range node.Privileges() {
		answers[p.GetName()] = verdict(q.Kernel.EnablePrivilege(p.GetName()))
	}
	answers["link, through the handle from before"] = verdict(send(early, win32.FSCTL_SET_REPARSE_POINT, link))
	late := q.emptyDirectory()
	defer late.Close()
	answers["link, through a new handle"] = verdict(send(late, win32.FSCTL_SET_REPARSE_POINT, link))
}

// emptyDirectory makes a directory and opens it to become a reparse point.
func (q *inquiry) emptyDirectory() kernel.Handle {
	q.Helper()
	h, err := q.openPlace(q.mountPoint(), win32.FILE_WRITE_ATTRIBUTES, shareAll)
	q.check(err)
	return h
}

// openPlace opens a directory, link or mount point itself.
func (s Subject) openPlace(path string, access, share uint32) (kernel.Handle, error) {
	return s.Kernel.OpenFile(nil, `\\?\`+strings.TrimSuffix(path, `\`), kernel.OpenOptions{
		Access: access, Share: share, Disposition: win32.FILE_OPEN,
		Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
}
