// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

func shareQuestions() []Question {
	return []Question{
		{22, "Which codes do failures of MSFT_SmbGlobalMapping.Create carry?", askMappingFailures},
	}
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
		"no such server":         create(`\\no-such-server.invalid\share`, share.User, share.Password),
		"no such share":          create(server+`\no-such-share`, share.User, share.Password),
		"wrong password":         create(share.Remote, share.User, share.Password+"x"),
		"no such user":           create(share.Remote, "no-such-user", share.Password),
		"malformed path":         create(`\\`, share.User, share.Password),
		"right, the first time":  verdict(s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User, kernel.Secret(share.Password), false)),
		"right, the second time": verdict(s.Kernel.CreateSMBGlobalMapping(share.Remote, share.User, kernel.Secret(share.Password), false)),
	}
	other, err := s.Share(t)
	if err != nil {
		return answers, err
	}
	answers["another share as another user"] = create(other.Remote, other.User, other.Password)
	_ = s.Kernel.RemoveSMBGlobalMapping(share.Remote) // a machine that is thrown away may keep it
	return answers, nil
}
