// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
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

// mapShare maps a share.
func (s Subject) mapShare(share Share, private bool) error {
	return s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User, kernel.Secret(share.Password), private)
}

// mapped maps a new share until the test ends.
func (q *inquiry) mapped(private bool) Share {
	q.Helper()
	share := q.Share(q)
	q.Cleanup(func() { _ = q.Kernel.RemoveSMBGlobalMapping(share.Remote) })
	q.check(machine.LogonRefused(q.mapShare(share, private)))
	return share
}

func askMappingFailures(q *inquiry) {
	share := q.Share(q)
	server := share.Remote[:strings.LastIndex(share.Remote, `\`)]
	create := func(remote, user, password string) string {
		defer func() { _ = q.Kernel.RemoveSMBGlobalMapping(remote) }()
		return verdict(q.mapShare(Share{Remote: remote, User: user, Password: password}, false))
	}
	answers := note(q, map[string]string{
		"no such server":         create(`\\no-such-server.invalid\share`, share.User, share.Password),
		"no such share":          create(server+`\no-such-share`, share.User, share.Password),
		"wrong password":         create(share.Remote, share.User, share.Password+"x"),
		"no such user":           create(share.Remote, "no-such-user", share.Password),
		"malformed path":         create(`\\`, share.User, share.Password),
		"right, the first time":  verdict(q.mapShare(share, false)),
		"right, the second time": verdict(q.mapShare(share, false)),
	})
	other := q.Stranger(q)
	another := func() string { return create(other.Remote, other.User, other.Password) }
	answers["another share as another user"] = another()
	q.check(q.Kernel.RemoveSMBGlobalMapping(share.Remote))
	refused, result, begun := win32.ERROR_SESSION_CREDENTIAL_CONFLICT.Name(), "", time.Now()
	_, _ = q.pollUntil(func() (bool, error) { result = another(); return result != refused, nil })
	answers["another share as another user, the first one not mapped any more"] = result
	answers["which it was after"] = time.Since(begun).Round(time.Second).String()
	answers["a user name without its machine"] = create(share.Remote,
		share.User[strings.LastIndex(share.User, `\`)+1:], share.Password)
}

// askUnmapped finds out whether an open directory of a share is a way around the list of mappings. The share's root is
// asked for a name that it does not have: a server that is asked says so.
func askUnmapped(q *inquiry) {
	share, answers := q.mapped(false), note(q, map[string]string{})
	directory, err := q.openDirectory(nil, root(share))
	q.check(err)
	defer directory.Close()
	answers["below, mapped"] = verdict(q.opens(directory, "none"))
	q.check(q.Kernel.RemoveSMBGlobalMapping(share.Remote))
	answers["below, not mapped"] = verdict(q.opens(directory, "none"))
	answers["by path, not mapped"] = verdict(q.opens(nil, root(share)))
}

// root returns the path of a share's root for calls of files.
func root(s Share) string { return `\\?\UNC` + s.Remote[1:] + `\` }

func askReconnected(q *inquiry) {
	share := q.mapped(false)
	var answers []string
	add := func(what, answer string) {
		answers = append(answers, what+": "+answer)
		q.noted = answers
	}
	status := func(when string) {
		mappings, err := q.Kernel.SMBGlobalMappings()
		answer := "not listed, " + verdict(err)
		for _, m := range mappings {
			if strings.EqualFold(m.RemotePath, share.Remote) {
				answer = win32.SMBMappingStatusName(m.Status)
			}
		}
		add(when, answer)
	}
	open := func() { add("open", timed(func() error { return q.opens(nil, root(share)) })) }
	open()
	status("opened")
	q.check(q.Drop(share))
	status("session ended")
	open()
	opened := time.Now()
	for _, after := range []time.Duration{0, 100 * time.Millisecond, time.Second} {
		time.Sleep(time.Until(opened.Add(after)))
		status(fmt.Sprintf("%v after the open", after))
	}
	q.check(q.Kernel.RemoveSMBGlobalMapping(share.Remote))
}

func (s Subject) openDirectory(in kernel.Handle, name string) (kernel.Handle, error) {
	return s.Kernel.OpenFile(in, name, kernel.OpenOptions{
		Access: win32.FILE_LIST_DIRECTORY | win32.FILE_READ_ATTRIBUTES, Share: shareAll,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE,
	})
}

// opens opens a directory and closes it again.
func (s Subject) opens(in kernel.Handle, name string) error {
	h, err := s.openDirectory(in, name)
	if err == nil {
		_ = h.Close()
	}
	return err
}
