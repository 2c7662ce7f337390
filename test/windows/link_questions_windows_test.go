// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/winapitest"
)

func linkQuestions() []Question {
	return []Question{
		{16, `Does a directory link to \\server\share\directory\ work on the host?`, askLinkToShare},
		{17, "Does WNetAddConnection3W make a global, encrypted mapping that MSFT_SmbGlobalMapping lists?", askWNet},
	}
}

func askLinkToShare(q *inquiry) {
	share, answers := q.mapped(true), note(q, map[string]string{})
	q.check(os.Mkdir(share.Remote+`\directory`, 0o700))
	q.check(os.WriteFile(share.Remote+`\directory\file`, []byte("shared"), 0o600))
	for name, target := range map[string]string{
		"plain": share.Remote + `\directory\`, "plain, no backslash at the end": share.Remote + `\directory`,
		"UNC form": root(share) + `directory\`,
	} {
		link := filepath.Join(q.TempDir(), "link")
		names, err := wide(link, target)
		q.check(err)
		if err := windows.CreateSymbolicLink(names[0], names[1], windows.SYMBOLIC_LINK_FLAG_DIRECTORY); err != nil {
			answers[name] = "made: " + err.Error()
			continue
		}
		content, err := os.ReadFile(link + `\file`)
		answers[name] = fmt.Sprintf("%q %v", content, err)
	}
}

func askWNet(q *inquiry) {
	share, answers := q.Share(q), note(q, map[string]string{})
	texts, err := wide(share.Remote, share.User, share.Password)
	q.check(err)
	for name, flags := range map[string]uint32{
		"global":             winapitest.ConnectGlobalMapping,
		"global and private": winapitest.ConnectGlobalMapping | winapitest.ConnectRequirePrivacy,
	} {
		status := winapitest.WNetAddConnection3(0, &winapitest.NetResource{Type: winapitest.ResourceTypeDisk, RemoteName: texts[0]},
			texts[2], texts[1], flags)
		answer := "success"
		if status != 0 {
			answer = verdict(win32.Errno(status))
		}
		mappings, err := q.Kernel.SMBGlobalMappings()
		q.check(err)
		listed := slices.ContainsFunc(mappings, func(m kernel.SMBGlobalMapping) bool {
			return strings.EqualFold(m.RemotePath, share.Remote)
		})
		answers[name] = fmt.Sprintf("%s, listed: %t", answer, listed)
		_ = q.Kernel.RemoveSMBGlobalMapping(share.Remote)
	}
}
