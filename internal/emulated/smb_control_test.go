// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

func mapShare(n *Node, path, user, password string) error {
	return n.CreateSMBGlobalMapping(path, user, kernel.Secret(password), true)
}

func TestSharesComeAndGo(t *testing.T) {
	n := smbNode(t)
	must(t, n.AddSMBShare("FS.emulated", "backup", []string{"admin"}))
	must(t, n.AddSMBShare("nas.emulated", "new", nil))
	const backup = `\\fs.emulated\Backup`
	wantCode(t, "another account", mapShare(n, backup, "csi", "csi-password"), win32.ERROR_ACCESS_DENIED)
	must(t, mapShare(n, backup, "admin", "admin-password"))
	h, err := openShare(n, backup)
	must(t, err)
	must(t, n.RemoveSMBShare("fs.emulated", "BACKUP"))
	wantCode(t, "an open file", second(h.AccessList()), errShareGone)
	wantCode(t, "the share", shareCode(n, backup), win32.ERROR_BAD_NET_NAME)
	must(t, n.AddSMBShare("fs.emulated", "backup", nil))
	must(t, shareCode(n, backup))
	const elsewhere = `\\nas.emulated\new`
	must(t, mapShare(n, elsewhere, "csi", "csi-password"))
	h, err = openShare(n, elsewhere)
	must(t, err)
	must(t, n.DropSMBSessions("fs.emulated"))
	must(t, second(h.FinalPath(win32.VOLUME_NAME_DOS))) // another server's
	for name, err := range map[string]error{
		"share with a slash":       n.AddSMBShare("fs.emulated", `a\b`, nil),
		"share of an unknown user": n.AddSMBShare("fs.emulated", "x", []string{"nobody"}),
		"server without a name":    n.AddSMBShare("", "x", nil),
	} {
		if !errors.Is(err, smb.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"unknown share": n.RemoveSMBShare("fs.emulated", "none"), "unknown server": n.RemoveSMBShare("none", "share"),
		"unknown server's sessions": n.DropSMBSessions("none"), "unknown account": n.RemoveSMBUser("none"),
	} {
		if !errors.Is(err, smb.ErrNoSuch) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCreateAndDeleteAccounts(t *testing.T) {
	n := smbNode(t)
	must(t, n.AddSMBUser(smb.User{Name: "alice", Domains: []string{"CORP"}, Password: "alice-password"}))
	must(t, mapShare(n, emulatedShare, `corp\Alice`, "alice-password"))
	must(t, shareCode(n, emulatedShare))
	if err := n.AddSMBUser(smb.User{Name: "bob"}); !errors.Is(err, smb.ErrInvalid) {
		t.Errorf("without a password: %v", err)
	}
	if err := n.AddSMBUser(smb.User{Name: "ALICE", Password: "x"}); !errors.Is(err, smb.ErrInvalid) {
		t.Errorf("a second one: got %v", err)
	}
	must(t, n.RemoveSMBUser("alice"))
	wantCode(t, "the session", shareCode(n, emulatedShare), win32.ERROR_LOGON_FAILURE)
}
