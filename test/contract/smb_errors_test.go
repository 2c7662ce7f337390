// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

func TestSMBArguments(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.Mkdir(podsPath + `\dir`))
	n.WriteFile(podsPath+`\file`, "")
	const link = podsPath + `\link`
	for name, c := range map[string]struct {
		remote, local  string
		user, password string
		want           codes.Code
		says           string
	}{
		"no remote path":        {"", "", caller.User, caller.Password, codes.InvalidArgument, "remote path is empty"},
		"this machine":          {`\\127.1\share`, "", caller.User, caller.Password, codes.InvalidArgument, ""},
		"the drive of a server": {`\\fs.emulated\c$\Windows`, "", caller.User, caller.Password, codes.InvalidArgument, ""},
		"unknown user":          {share, "", "nobody", caller.Password, codes.Unauthenticated, ""},
		"unknown domain":        {share, "", `OTHER\csi`, caller.Password, codes.Unauthenticated, ""},
		// The commonest mistake in a Kubernetes secret is named, and the secret is not.
		"a line end behind the password": {share, "", caller.User, caller.Password + "\n", codes.Unauthenticated, "line end"},
		"a user with a line end":         {share, "", "csi\n", caller.Password, codes.InvalidArgument, ""},
		"a password with a NUL":          {share, "", caller.User, "a\x00b", codes.InvalidArgument, ""},
		"a long password":                {share, "", caller.User, strings.Repeat("x", 32<<10), codes.InvalidArgument, ""},
		"a link with slashes": {share, `C:/var/lib/kubelet/pods/link`, caller.User, caller.Password,
			codes.InvalidArgument, ""},
		"a link for a working directory": {share, `C:\var\lib\kubelet`, caller.User, caller.Password,
			codes.FailedPrecondition, ""},
		"a link for a directory":       {share, podsPath + `\dir`, caller.User, caller.Password, codes.AlreadyExists, ""},
		"a link for a file":            {share, podsPath + `\file`, caller.User, caller.Password, codes.AlreadyExists, ""},
		"a link without parent":        {share, podsPath + `\none\link`, caller.User, caller.Password, codes.NotFound, ""},
		"a link with a wrong password": {share, link, caller.User, "not-the-password", codes.Unauthenticated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := caller.On(t, n.Node)
			err := n.NewSmbGlobalMapping(c.remote, c.local, c.user, c.password)
			n.Code(err, c.want, c.says)
			n.Mapped()
			if strings.Contains(err.Error(), c.password) || n.Exists(link) {
				t.Errorf("a link was made, or the error contains the password: %v", err)
			}
		})
	}
}

func TestSMBConflict(t *testing.T) {
	n := startMapped(t)
	n.Refused(n.NewSmbGlobalMapping(otherShare, podsPath+`\link`, `AZURE\csi`, caller.Password),
		codes.FailedPrecondition, "SESSION_CREDENTIAL_CONFLICT", "fs.emulated", share)
	n.Mapped(share)
	if !n.IsLink(stagedShare) || n.Exists(podsPath+`\link`) {
		t.Error("the other share's mapping suffered, or a link was made")
	}
}

func encrypting(encrypts bool) emulated.Options {
	s := scenario.Default()
	s.SMBServers = []smb.Server{{Name: "fs.emulated",
		Shares:       []smb.Share{{Name: "share"}, {Name: "closed", Users: []string{"admin"}}},
		NoEncryption: !encrypts}}
	s.SMBUsers = append(s.SMBUsers, smb.User{Name: "admin", Password: "admin-password"})
	return emulated.Options{Scenario: &s}
}

// The flag -require-privacy reaches the mapping.
func TestSMBPrivacy(t *testing.T) {
	n := caller.Start(t, testnode.Options{Emulated: encrypting(false)})
	n.Code(n.Map(share, ""), codes.FailedPrecondition, "encrypt", "-require-privacy")
	n.Mapped()
	n = caller.Start(t, testnode.Options{Emulated: encrypting(false), PlainSMB: true})
	n.OK(n.Map(share, ""))
	n = caller.Start(t, testnode.Options{Emulated: encrypting(true)})
	n.OK(n.Map(share, ""))
	n.Code(n.Map(`\\fs.emulated\closed`, ""), codes.PermissionDenied)
	n.Mapped(share)
}

// A user's wrong secret, a server and a domain are not the agent's failures: no code that Microsoft's pages name for
// these calls is INTERNAL, and each has a reason and a text.
func TestSMBCodes(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	for want, list := range map[codes.Code][]win32.Errno{
		codes.Unavailable: {51, 53, 54, 58, 59, 64, 70, 121, 240, 1203, 1208, 1222, 1225, 1231, 1232, 1236, 1256, 1265,
			1311, 1355, 1792, 1908},
		codes.Unauthenticated: {86, 1240, 1244, 1245, 1312, 1317, 1326, 1327, 1328, 1329, 1330, 1331, 1385, 1793, 1907, 1909,
			2202, 2242},
		codes.FailedPrecondition: {52, 85, 384, 1219, 1272, 1396, 1397, 1398, 1786, 1787, 1788, 1789, 1790, 2138},
		codes.ResourceExhausted:  {8, 68, 71, 1220, 1450},
		codes.PermissionDenied:   {5, 65},
		codes.InvalidArgument:    {66, 87},
		codes.NotFound:           {67},
		codes.Internal:           {31},
	} {
		for _, code := range list {
			n.Once("CreateSMBGlobalMapping", code)
			err := n.NewSmbGlobalMapping(share, podsPath+`\link`, `AZURE\csi`, caller.Password)
			n.Code(err, want, share)
			if text := err.Error(); code.Name() == "" || !strings.Contains(text, code.Error()) ||
				strings.Contains(text, caller.Password) || strings.Contains(text, "AZURE") {
				t.Errorf("%d: the error does not name the code, or tells credentials: %v", code, err)
			}
		}
	}
	if n.Exists(podsPath + `\link`) {
		t.Error("a link was made to a share that is not mapped")
	}
	// Whom the texts blame.
	for code, says := range map[win32.Errno]string{
		1311: "domain controller", 1787: "; join it to the domain again", 1312: "DisableDomainCreds", 1272: "guest", 384: "SMB 2", 1396: "alias", 1398: "clocks",
		71: "as many connections", 2138: "LanmanWorkstation", 53: "fs.emulated does not answer",
	} {
		n.Once("CreateSMBGlobalMapping", code)
		if err := n.Map(share, ""); !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v: %v, want %q", code, err, says)
		}
	}
	n.Once("SMBGlobalMappings", win32.ERROR_GEN_FAILURE)
	n.Code(n.Map(share, ""), codes.Unavailable)
	n.Faults.Panic("CreateSMBGlobalMapping")
	n.Code(n.Map(share, ""), codes.Internal)
	n.OK(n.Map(share, ""))
}
