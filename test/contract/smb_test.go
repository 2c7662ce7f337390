// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	share        = caller.Share
	otherShare   = caller.OtherShare
	stagedShare  = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\abc\globalmount`
	stagedParent = `\var\lib\kubelet\plugins\kubernetes.io\csi\smb.csi.k8s.io\abc`
)

// shareFile returns the path of a share's file on its server.
func shareFile(n *caller.Node, share string, names ...string) string {
	return filepath.Join(append([]string{n.StateDir, "shares", "fs.emulated", share}, names...)...)
}

func startMapped(t *testing.T) *caller.Node {
	t.Helper()
	n := caller.Start(t, testnode.Options{})
	n.OK(n.Mkdir(stagedParent))
	n.OK(n.Map(share, stagedShare))
	return n
}

func TestSMBMapping(t *testing.T) {
	n := startMapped(t)
	n.Mapped(share)
	n.WriteFile(stagedShare+`\data`, "precious")
	if content, err := os.ReadFile(shareFile(n, "share", "data")); err != nil || string(content) != "precious" {
		t.Errorf("the server has %q, %v", content, err)
	}
	if !n.IsLink(stagedShare) {
		t.Error("the link is not one")
	}
	n.Called()
	n.OK(n.Map(share, stagedShare)) // once more
	n.OK(n.Map(`\\FS.Emulated\SHARE\`, stagedShare+`\`))
	n.OK(n.Map("//fs.emulated/share", ""))
	n.OK(n.Map(share+`\sub\dir`, stagedParent+`\sub`)) // shares the mapping
	// A mapping is never removed from under pods that use it: not by a call with a wrong password, nor by one with none.
	for _, as := range [][2]string{{caller.User, "wrong"}, {"nobody", "wrong"}, {"", ""},
		{`EMULATED\csi`, caller.Password}} {
		n.OK(n.NewSmbGlobalMapping(share, stagedShare, as[0], as[1]))
	}
	if made := n.Called("CreateSMBGlobalMapping"); len(made) > 0 {
		t.Errorf("a mapping that works was made again: %q", made)
	}
	n.Mapped(share)
	n.OK(n.RemoveSmbGlobalMapping(share + `\whatever`))
	n.Mapped()
	if !n.Exists(stagedShare) || n.IsLink(stagedShare) {
		t.Error("the link has gone with the mapping, or is not dangling")
	}
}

// A share has one name for the node and for the policy, however many separators of both kinds a driver writes. The SMB
// driver takes the first two components of the link's target as the key of the mapping.
func TestSMBSpellings(t *testing.T) {
	p, err := policy.Parse("policy", []byte("apiVersion: "+policy.APIVersion+"\nkind: Policy\nrules: [{name: a, "+
		`clients: [{any: true}], methods: [filesystem, smb], directories: ['C:\var\lib\kubelet'], `+
		`smbServers: [fs.emulated]}]`))
	caller.OK(t, err)
	n := caller.Start(t, testnode.Options{Policy: p})
	for spelling, want := range map[string]string{
		share: "", `\fs.emulated\share`: "", `fs.emulated\share`: "", "/fs.emulated/share": "",
		"//fs.emulated/share/a/b": `a\b\`, share + `\C\`: `C\`,
		`\\\fs.emulated\\/share//`: "", `/\FS.emulated\share\\sub`: `sub\`,
	} {
		n.OK(n.Map(spelling, podsPath+`\link`))
		n.Mapped(share)
		if target, err := n.Emulated.Readlink(podsPath + `\link`); err != nil ||
			!strings.EqualFold(target, share+`\`+want) {
			t.Errorf("link to %s: got %q, %v", spelling, target, err)
		}
		n.OK(n.RemoveSmbGlobalMapping(share))
		n.Mapped()
		n.OK(n.Rmdir(podsPath+`\link`, true))
		n.OK(n.Map(spelling, ""))
		n.OK(n.RemoveSmbGlobalMapping(spelling))
		n.Mapped()
	}
	for _, other := range []string{
		`\other\fs.emulated`, `other\\fs.emulated\share`, `/\other/fs.emulated`, `\\\other\\fs.emulated\share`,
	} {
		n.Code(n.Map(other, ""), codes.PermissionDenied)
		n.Code(n.RemoveSmbGlobalMapping(other), codes.PermissionDenied)
	}
}

// Another program maps the share between the agent's query and its call.
func TestSMBMappedByAnother(t *testing.T) {
	for _, code := range []win32.Errno{win32.ERROR_ALREADY_ASSIGNED, win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
		win32.ERROR_GEN_FAILURE} {
		n := caller.Start(t, testnode.Options{})
		n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Times: 1, Error: code, After: true})
		n.OK(n.Map(share, podsPath+`\link`))
		n.Mapped(share)
	}
	n := caller.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Error: win32.ERROR_SESSION_CREDENTIAL_CONFLICT})
	n.Code(n.Map(share, ""), codes.FailedPrecondition)
	n = caller.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "CreateSMBGlobalMapping", Error: win32.ERROR_GEN_FAILURE})
	n.Code(n.Map(share, ""), codes.Internal)
}

// After a reboot mappings are gone, or they are there without their credentials: the next stage repairs both.
func TestSMBReboot(t *testing.T) {
	for stay, left := range map[bool][]string{false: nil, true: {otherShare, share}} {
		t.Run(fmt.Sprintf("mappings stay=%t", stay), func(t *testing.T) {
			n := startMapped(t)
			n.SetSwitch("mappingsOutliveReboot", strconv.FormatBool(stay))
			n.OK(n.Map(otherShare, ""))
			n.WriteFile(stagedShare+`\data`, "x")
			n.Reboot()
			n.Mapped(left...)
			if !n.Exists(stagedShare) || n.IsLink(stagedShare) {
				t.Error("the link does not dangle after a reboot")
			}
			n.OK(n.Map(share, stagedShare))
			n.Holds(stagedShare+`\data`, "x")
			n.OK(n.Map(otherShare, ""))
			n.Mapped(otherShare, share)
			n.Called()
			n.OK(n.Map(share, stagedShare))
			if removed := n.Called("RemoveSMBGlobalMapping"); len(removed) > 0 {
				t.Errorf("a repaired mapping is repaired again: %q", removed)
			}
		})
	}
}

// A server that is away when the node is up again does not cost it the mapping.
func TestSMBRebootWithoutServer(t *testing.T) {
	n := startMapped(t)
	n.Reboot()
	n.StopSMBServer("fs.emulated")
	n.Code(n.Map(share, stagedShare), codes.Unavailable)
	n.Mapped(share)
	n.StartSMBServer("fs.emulated")
	n.OK(n.Map(share, stagedShare))
	if !n.IsLink(stagedShare) {
		t.Error("the share does not come back")
	}
}

// A mapping whose credentials do not work is removed before it is made again, or Windows would refuse.
func TestSMBBrokenMappingIsMadeAgain(t *testing.T) {
	for _, code := range []win32.Errno{
		win32.ERROR_ACCESS_DENIED, win32.ERROR_NETWORK_ACCESS_DENIED, win32.ERROR_LOGON_FAILURE, win32.ERROR_INVALID_PASSWORD,
		win32.ERROR_NO_SUCH_LOGON_SESSION, win32.ERROR_ACCOUNT_DISABLED, win32.ERROR_PASSWORD_EXPIRED,
		win32.ERROR_SESSION_CREDENTIAL_CONFLICT,
	} {
		n := startMapped(t)
		n.OK(n.Emulated.AddSMBUser(smb.User{Name: "second", Password: caller.Password}))
		n.Once("OpenFile", code) // of the share
		n.Called()
		n.OK(n.NewSmbGlobalMapping(share, "", "second", caller.Password))
		if got := n.Called("RemoveSMBGlobalMapping", "CreateSMBGlobalMapping"); len(got) != 2 ||
			!strings.HasPrefix(got[0], "Remove") {
			t.Errorf("%v: got the calls %q", code, got)
		}
	}
	// A mapping that fails for any other reason is kept, whatever Windows calls its state.
	for code, want := range map[win32.Errno]codes.Code{
		win32.ERROR_BAD_NETPATH: codes.Unavailable, win32.ERROR_NETNAME_DELETED: codes.Unavailable,
		win32.ERROR_SEM_TIMEOUT:         codes.Unavailable,
		win32.ERROR_NO_SYSTEM_RESOURCES: codes.Unavailable, win32.ERROR_DEV_NOT_EXIST: codes.Unavailable,
		win32.ERROR_BAD_NET_NAME: codes.NotFound,
	} {
		n := startMapped(t)
		for range 2 {
			n.Once("OpenFile", code)
			n.Code(n.Map(share, ""), want)
			n.Mapped(share)
			n.DropSMBSessions("fs.emulated")
		}
	}
}
