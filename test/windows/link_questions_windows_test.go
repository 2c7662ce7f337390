// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/winapitest"
)

func linkQuestions() []Question {
	return []Question{
		{16, `Does a directory link to \\server\share\directory\ work on the host?`, askLinkToShare},
		{17, "Does WNetAddConnection3W make a global, encrypted mapping that MSFT_SmbGlobalMapping lists?", askWNet},
	}
}

func askLinkToShare(t testing.TB, s Subject) (any, error) {
	share, err := mapped(t, s, true)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(share.Remote+`\directory`, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(share.Remote+`\directory\file`, []byte("shared"), 0o600); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for name, target := range map[string]string{
		"plain": share.Remote + `\directory\`, "plain, no backslash at the end": share.Remote + `\directory`,
		"UNC form": `\\?\UNC` + share.Remote[1:] + `\directory\`,
	} {
		link, err := windows.UTF16PtrFromString(filepath.Join(t.TempDir(), "link"))
		if err != nil {
			return answers, err
		}
		target16, err := windows.UTF16PtrFromString(target)
		if err != nil {
			return answers, err
		}
		if err := windows.CreateSymbolicLink(link, target16, windows.SYMBOLIC_LINK_FLAG_DIRECTORY); err != nil {
			answers[name] = "made: " + err.Error()
			continue
		}
		content, err := os.ReadFile(windows.UTF16PtrToString(link) + `\file`)
		answers[name] = fmt.Sprintf("%q %v", content, err)
	}
	return answers, nil
}

func askWNet(t testing.TB, s Subject) (any, error) {
	share, err := s.Share(t)
	if err != nil {
		return nil, err
	}
	remote, err := windows.UTF16PtrFromString(share.Remote)
	if err != nil {
		return nil, err
	}
	user, err := windows.UTF16PtrFromString(share.User)
	if err != nil {
		return nil, err
	}
	password, err := windows.UTF16PtrFromString(share.Password)
	if err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for name, flags := range map[string]uint32{
		"global":             winapitest.ConnectGlobalMapping,
		"global and private": winapitest.ConnectGlobalMapping | winapitest.ConnectRequirePrivacy,
	} {
		status := winapitest.WNetAddConnection3(0, &winapitest.NetResource{Type: winapitest.ResourceTypeDisk, RemoteName: remote},
			password, user, flags)
		answer := "success"
		if status != 0 {
			answer = verdict(win32.Errno(status))
		}
		mappings, err := s.Kernel.SMBGlobalMappings()
		if err != nil {
			return answers, err
		}
		listed := false
		for _, m := range mappings {
			listed = listed || strings.EqualFold(m.RemotePath, share.Remote)
		}
		answers[name] = fmt.Sprintf("%s, listed: %t", answer, listed)
		_ = s.Kernel.RemoveSMBGlobalMapping(share.Remote)
	}
	return answers, nil
}
