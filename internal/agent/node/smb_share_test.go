// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

const (
	testShare = `\\fs.emulated\share`
	testLink  = `C:\var\lib\kubelet\pods\link`
)

// smbNode returns a Node on an emulated node, with an interceptor.
func smbNode(t *testing.T, around kernel.Interceptor) (*Node, *emulated.Node) {
	t.Helper()
	k := emulate(t, emulated.Options{})
	n := newNode(t, k, Config{Interceptor: around, RequirePrivacy: true})
	n.EnablePrivileges(t.Context())
	return n, k
}

// A mapping is made again with other credentials if it is still disconnected some time after its share was opened, and
// kept with those that this process mapped it with, or if its state cannot be read.
func TestMappingThatStaysDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *emulated.Node
		var n *Node
		var calls []string
		var opened, removed time.Time
		fails := false
		n, k = smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
			calls = append(calls, call.Function)
			switch call.Function {
			case "OpenFile":
				opened = time.Now()
			case "RemoveSMBGlobalMapping":
				removed = time.Now()
			case "SMBGlobalMappings":
				if fails && calls[max(0, len(calls)-2)] == "OpenFile" {
					return win32.ERROR_GEN_FAILURE
				}
				if err := k.DropSMBSessions("fs.emulated"); err != nil {
					return err
				}
			}
			return do()
		})
		stage := func(user string) error {
			return by(t.Context(), n).NewSmbGlobalMapping(testShare, "", user, "csi-password")
		}
		must(t, stage("csi"))
		calls, fails = nil, true
		if err := stage(`AZURE\csi`); err == nil || slices.Contains(calls, "RemoveSMBGlobalMapping") {
			t.Errorf("the state could not be read: got %v after %v", err, calls)
		}
		fails = false
		must(t, stage("csi"))
		if slices.Contains(calls, "RemoveSMBGlobalMapping") {
			t.Errorf("mapped with the same credentials, it was removed: %v", calls)
		}
		must(t, stage(`AZURE\csi`))
		if waited := removed.Sub(opened); waited < statusTime || waited > 2*statusTime {
			t.Errorf("removed after %v", waited)
		}
	})
}

// lateStatus lists mappings as disconnected for a while.
type lateStatus struct {
	*emulated.Node
	late, removed int
}

func (k *lateStatus) SMBGlobalMappings() ([]kernel.SMBGlobalMapping, error) {
	list, err := k.Node.SMBGlobalMappings()
	if k.late--; k.late >= 0 {
		for i := range list {
			list[i].Status = win32.SMB_MAPPING_DISCONNECTED
		}
	}
	return list, err
}

func (k *lateStatus) RemoveSMBGlobalMapping(remotePath string) error {
	k.removed++
	return k.Node.RemoveSMBGlobalMapping(remotePath)
}

// A mapping that opening its share has reconnected is not removed from under pods while it is listed as disconnected,
// also if the share's root denies access.
func TestMappingListedLate(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := scenario.Default()
			s.SMBServers[0].Shares = []smb.Share{{Name: "share", ClosedRoot: closed}}
			k := emulate(t, emulated.Options{Scenario: &s})
			late := &lateStatus{Node: k}
			n := bare(t, late)
			stage := func() {
				t.Helper()
				if err := by(t.Context(), n).NewSmbGlobalMapping(testShare, "", "csi", "csi-password"); err != nil {
					t.Error(err)
				}
			}
			stage()
			must(t, k.DropSMBSessions("fs.emulated"))
			late.late, late.removed = 3, 0
			if stage(); late.removed > 0 {
				t.Errorf("closed root %t: the mapping was removed", closed)
			}
		})
	}
}

// A server whose name leads to this machine is refused, wherever that is written.
func TestResolvesToThisMachine(t *testing.T) {
	k := emulate(t, emulated.Options{})
	var addresses []netip.Addr
	n := newNode(t, k, Config{
		Resolve: func(_ context.Context, _, host string) ([]netip.Addr, error) {
			if host != "fs.emulated" {
				t.Errorf("resolves %s", host)
			}
			return addresses, nil
		}})
	for _, test := range []struct{ addresses, want string }{
		{"192.0.2.5 127.0.0.2", reason.InvalidRemotePath}, {"::1", reason.InvalidRemotePath},
		{"::ffff:127.0.0.1", reason.InvalidRemotePath}, {"0.0.0.0", reason.InvalidRemotePath},
		{"192.0.2.5 2001:db8::1", ""},
		{"127.0.0.1", ""}, // is mapped, and stays so
	} {
		addresses = nil
		for text := range strings.FieldsSeq(test.addresses) {
			addresses = append(addresses, netip.MustParseAddr(text))
		}
		err := by(t.Context(), n).NewSmbGlobalMapping(testShare, "", "csi", "csi-password")
		var e *errdefs.Error
		if errors.As(err, &e); (err != nil || test.want != "") && (e == nil || e.Reason != test.want) {
			t.Errorf("%s: got %v, want %q", test.addresses, err, test.want)
		}
	}
}

func FuzzParseRemote(f *testing.F) {
	for _, seed := range []string{testShare, testShare + `\a\b\`, "//server/share", `\\?\UNC\a\b`, `\\.\pipe\x`,
		`\\a@SSL\b`, `\\localhost\IPC$`, `\\a\..`, "", `\\`, `\\a\b\\c`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		share, err := parseRemote(text)
		var e *errdefs.Error
		if err != nil {
			if !errors.As(err, &e) || e.Class != errdefs.InvalidArgument {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := parseRemote(share.String() + `\`)
		if err != nil || again.String() != share.String() {
			t.Errorf("%q reads as %q, and that as %q, %v", text, share, again, err)
		}
		key := share.Key()
		if strings.Count(key, `\`) != 3 || strings.ContainsAny(key, "/*?\"<>|\x00") ||
			serverOf(key) != winpath.Fold(share.Server) {
			t.Errorf("%q has the key %q", text, key)
		}
	})
}

// At the highest verbosity the log names shares but neither users nor passwords, whatever happens.
func TestLogContainsNoCredentials(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log), textlogger.Verbosity(10)))
	ctx := klog.NewContext(t.Context(), logger)
	panics := false
	n, k := smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		logger.Info("kernel call", "call", call) // as a journal would
		if panics && call.Function == "CreateSMBGlobalMapping" {
			panic("injected")
		}
		return do()
	})
	const password = "correct-horse"
	must(t, k.SetSMBPassword("csi", password))
	for _, c := range []struct{ user, password string }{
		{"csi", "battery-staple"}, {`AZURE\csi`, password}, {"csi", "battery-staple"}, {"nobody-we-know", password},
	} {
		_ = by(ctx, n).NewSmbGlobalMapping(testShare, testLink, c.user, c.password)
	}
	must(t, by(ctx, n).RemoveSmbGlobalMapping(testShare))
	panics = true
	err := by(ctx, n).NewSmbGlobalMapping(testShare, "", "nobody-we-know", password)
	if !errdefs.HasReason(err, reason.Panic) {
		t.Errorf("got %v", err)
	}
	must(t, n.Drain(ctx))
	for _, word := range []string{password, "battery-staple", "AZURE", "nobody-we-know"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log contains %q:\n%s", word, log.String())
		}
	}
	if !strings.Contains(log.String(), "CreateSMBGlobalMapping") || !strings.Contains(log.String(), "Panic") {
		t.Errorf("the log lacks what happened:\n%s", log.String())
	}
}
