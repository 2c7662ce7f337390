// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"crypto/rand"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// privilegeQuestions come first: a privilege can be enabled only once, and others need it.
func privilegeQuestions() []Question {
	return []Question{
		{27, "What becomes of a link that FSCTL_SET_REPARSE_POINT makes before the privilege is enabled, and does a handle " +
			"count that was opened before?", askPrivileges},
	}
}

func askPrivileges(_ testing.TB, s Subject) (any, error) {
	early, err := emptyDirectory(s)
	if err != nil {
		return nil, err
	}
	defer early.Close()
	link := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_SYMLINK, SubstituteName: `\??\` + mountParent,
		PrintName: mountParent}
	answers := map[string]string{"link, before": verdict(send(early, win32.FSCTL_SET_REPARSE_POINT, link.Bytes()))}
	for _, p := range node.Privileges() {
		answers[p.GetName()] = verdict(s.Kernel.EnablePrivilege(p.GetName()))
	}
	answers["link, through the handle from before"] = verdict(send(early, win32.FSCTL_SET_REPARSE_POINT, link.Bytes()))
	late, err := emptyDirectory(s)
	if err != nil {
		return answers, err
	}
	defer late.Close()
	answers["link, through a new handle"] = verdict(send(late, win32.FSCTL_SET_REPARSE_POINT, link.Bytes()))
	return answers, nil
}

// emptyDirectory makes a directory and opens it to become a reparse point.
func emptyDirectory(s Subject) (kernel.Handle, error) {
	name := "link-" + rand.Text()
	if err := makeDirectory(s, mountParent, name); err != nil {
		return nil, err
	}
	return openPlace(s, mountParent+`\`+name, win32.FILE_WRITE_ATTRIBUTES, shareAll)
}

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// openPlace opens a directory, link or mount point itself.
func openPlace(s Subject, path string, access, share uint32) (kernel.Handle, error) {
	return s.Kernel.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access: access, Share: share, Disposition: win32.FILE_OPEN,
		Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
}
