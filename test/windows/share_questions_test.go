// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

func shareQuestions() []Question {
	return []Question{
		{22, "Which codes do failures of MSFT_SmbGlobalMapping.Create carry?", askMappingFailures},
		{35, "After a global mapping was removed: what do openings on the share come to, by path and below an open " +
			"directory?", askUnmapped},
		{49, "After the server ended the session: what is a mapping's status, and 0, 100 and 1000 ms after an open that " +
			"makes it again?", askReconnected},
	}
}

// mapped maps a share until the test ends.
func mapped(t testing.TB, s Subject, private bool) (Share, error) {
	t.Helper()
	share, err := s.Share(t)
	if err != nil {
		return share, err
	}
	t.Cleanup(func() { _ = s.Kernel.RemoveSMBGlobalMapping(share.Remote) })
	err = s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User, kernel.Secret(share.Password), private)
	return share, machine.LogonRefused(err)
}

func askMappingFailures(t testing.TB, s Subject) (any, error) {
	share, err := s.Share(t)
	if err != nil {
		return nil, err
	}
	server := share.Remote[:strings.LastIndex(share.Remote, `\`)]
	create := func(remote, user, password string) string {
		defer func() { _ = s.Kernel.RemoveSMBGlobalMapping(remote) }()
		return verdict(s.Kernel.CreateSMBGlobalMapping(remote, user, kernel.Secret(password), false))
	}
	answers := map[string]string{
		"no such server": create(`\\no-such-server.invalid\share`, share.User, share.Password),
		"no such share":  create(server+`\no-such-share`, share.User, share.Password),
		"wrong password": create(share.Remote, share.User, share.Password+"x"),
		"no such user":   create(share.Remote, "no-such-user", share.Password),
		"malformed path": create(`\\`, share.User, share.Password),
		"right, the first time": verdict(s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User,
			kernel.Secret(share.Password), false)),
		"right, the second time": verdict(s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User,
			kernel.Secret(share.Password), false)),
	}
	other, err := s.Stranger(t)
	if err != nil {
		return answers, err
	}
	another := func() string { return create(other.Remote, other.User, other.Password) }
	answers["another share as another user"] = another()
	if err := s.Kernel.RemoveSMBGlobalMapping(share.Remote); err != nil {
		return answers, err
	}
	refused, result, begun := win32.ERROR_SESSION_CREDENTIAL_CONFLICT.Name(), "", time.Now()
	_, err = s.pollUntil(func() (bool, error) { result = another(); return result != refused, nil })
	answers["another share as another user, the first one not mapped any more"] = result
	answers["which it was after"] = time.Since(begun).Round(time.Second).String()
	answers["a user name without its machine"] = create(share.Remote,
		share.User[strings.LastIndex(share.User, `\`)+1:], share.Password)
	return answers, err
}

// askUnmapped finds out whether an open directory of a share is a way around the list of mappings. The share's root is
// asked for a name that it does not have: a server that is asked says so.
func askUnmapped(t testing.TB, s Subject) (any, error) {
	share, err := mapped(t, s, false)
	if err != nil {
		return nil, err
	}
	root := root(share)
	directory, err := openDirectory(s, nil, root)
	if err != nil {
		_ = s.Kernel.RemoveSMBGlobalMapping(share.Remote)
		return nil, err
	}
	defer directory.Close()
	below := func() string {
		h, err := openDirectory(s, directory, "none")
		if err == nil {
			_ = h.Close()
		}
		return verdict(err)
	}
	answers := map[string]string{"below, mapped": below()}
	if err := s.Kernel.RemoveSMBGlobalMapping(share.Remote); err != nil {
		return answers, err
	}
	answers["below, not mapped"] = below()
	again, err := openDirectory(s, nil, root)
	if err == nil {
		_ = again.Close()
	}
	answers["by path, not mapped"] = verdict(err)
	return answers, nil
}

// root returns the path of a share's root for calls of files.
func root(s Share) string { return `\\?\UNC` + s.Remote[1:] + `\` }

func askReconnected(t testing.TB, s Subject) (any, error) {
	share, err := mapped(t, s, false)
	if err != nil {
		return nil, err
	}
	var answers []string
	status := func(when string) {
		mappings, err := s.Kernel.SMBGlobalMappings()
		answer := "not listed, " + verdict(err)
		for _, m := range mappings {
			if strings.EqualFold(m.RemotePath, share.Remote) {
				answer = win32.SMBMappingStatusName(m.Status)
			}
		}
		answers = append(answers, when+": "+answer)
	}
	open := func() {
		answers = append(answers, "open: "+timed(func() error {
			h, err := openDirectory(s, nil, root(share))
			if err == nil {
				_ = h.Close()
			}
			return err
		}))
	}
	open()
	status("opened")
	if err := s.Drop(share); err != nil {
		return answers, err
	}
	status("session ended")
	open()
	opened := time.Now()
	for _, after := range []time.Duration{0, 100 * time.Millisecond, time.Second} {
		time.Sleep(time.Until(opened.Add(after)))
		status(fmt.Sprintf("%v after the open", after))
	}
	return answers, s.Kernel.RemoveSMBGlobalMapping(share.Remote)
}

func openDirectory(s Subject, in kernel.Handle, name string) (kernel.Handle, error) {
	return s.Kernel.OpenFile(in, name, kernel.OpenOptions{
		Access:      win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES,
		Share:       win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE,
	})
}
