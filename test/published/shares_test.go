// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

const anyShare = `\\fs.emulated\share`

var credentials = mounter.Credentials{User: "csi", Password: "csi-password"}

func isMapped(n *testnode.Node, share string) bool {
	for _, m := range n.Mappings() {
		if strings.EqualFold(m.Share, share) {
			return true
		}
	}
	return false
}

// TestSharesLife: volumes of two drivers in one share have one mapping, which goes with the last.
func TestSharesLife(t *testing.T) {
	t.Parallel()
	n, one := start(t)
	ctx, other := t.Context(), mounter.New(n.Client())
	n.SetSMBShareSpace("fs.emulated", "share", 10<<30, 1<<30)
	for range 2 {
		check(t, "staging the first", one.StageShare(ctx, `//fs.emulated/share`, targetOf("a"), credentials))
		check(t, "staging the second", other.StageShare(ctx, `\\FS.emulated\Share\dir`, targetOf("b"), credentials))
	}
	check(t, "staging another share", one.StageShare(ctx, `\\fs.emulated\other`, targetOf("c"), credentials))
	check(t, "publishing", one.Publish(ctx, targetOf("a"), publish))
	usage, err := one.Usage(ctx, publish)
	if want := (mounter.Usage{Total: 1 << 30, Available: 1 << 30}); err != nil || usage != want {
		t.Errorf("the usage is %+v, %v, want that of the account's quota, %+v", usage, err, want)
	}
	check(t, "unpublishing", one.Unstage(ctx, publish))
	if err := one.StageShare(ctx, `\\fs.emulated\other`, targetOf("a"), credentials); !errors.Is(err,
		csiproxy.ErrPathExists) {
		t.Errorf("staging another share there: %v, want ErrPathExists", err)
	}
	for range 2 {
		check(t, "unstaging one", one.Unstage(ctx, targetOf("a")))
	}
	if !isMapped(n, anyShare) {
		t.Fatal("the mapping was removed under a volume")
	}
	for range 2 {
		check(t, "unstaging the last", mounter.New(n.Client()).Unstage(ctx, targetOf("b")))
	}
	if isMapped(n, anyShare) || !isMapped(n, `\\fs.emulated\other`) {
		t.Errorf("after the last volume of one of two shares %v are mapped", n.Mappings())
	}
	check(t, "unstaging the other share", other.Unstage(ctx, targetOf("c")))
	if left := n.Mappings(); len(left) > 0 {
		t.Errorf("mappings stayed: %v", left)
	}
}

// TestSharesHeal: what breaks a share under a volume is healed when the volume is published.
func TestSharesHeal(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	ctx := t.Context()
	check(t, "staging", m.StageShare(ctx, anyShare, targetOf("a"), credentials))
	password := credentials
	for _, c := range []struct {
		what   string
		breaks func()
	}{
		{"nothing", func() {}},
		{"a reboot that drops the mappings", func() { n.SetSwitch("mappingsOutliveReboot", "false"); n.Reboot() }},
		{"a reboot that leaves them without credentials",
			func() { n.SetSwitch("mappingsOutliveReboot", "true"); n.Reboot() }},
		{"a new password", func() { password.Password = "rotated"; n.SetSMBPassword("csi", "rotated") }},
		{"another program", func() {
			_, err := n.SMB.RemoveSmbGlobalMapping(ctx, &csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: anyShare})
			check(t, "unmapping", err)
		}},
	} {
		c.breaks()
		err := m.EnsureShare(ctx, anyShare, targetOf("a"), mounter.Credentials{})
		if err != nil && !errors.Is(err, csiproxy.ErrCredentials) {
			t.Errorf("%s: EnsureShare without credentials: %v, want ErrCredentials or success", c.what, err)
		}
		check(t, c.what, m.EnsureShare(ctx, anyShare, targetOf("a"), password))
		if condition, err := m.Condition(ctx, targetOf("a")); err != nil || condition.Abnormal {
			t.Errorf("%s: %+v, %v", c.what, condition, err)
		}
	}
	n.StopSMBServer("fs.emulated")
	if err := m.EnsureShare(ctx, anyShare, targetOf("a"), password); !errors.Is(err, csiproxy.ErrServerUnreachable) {
		t.Errorf("a server that is down: %v, want ErrServerUnreachable", err)
	}
	check(t, "unstaging without the server", m.Unstage(ctx, targetOf("a")))
	if isMapped(n, anyShare) {
		t.Error("the mapping stayed")
	}
}

// TestSharesErrors: the kinds of failures are told apart and have no password. The volume can be staged with the right
// share afterwards, although kubelet has made its directory, and nothing is left behind.
func TestSharesErrors(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	n.AddSMBUser("second", "second-password")
	n.AddSMBShare("new.emulated", "share")
	check(t, "staging", m.StageShare(t.Context(), anyShare, targetOf("a"), credentials))
	for name, c := range map[string]struct {
		remote string
		with   mounter.Credentials
		want   error // nil: any
	}{
		"password": {`\\new.emulated\share`, mounter.Credentials{User: "csi", Password: "hunter2"}, csiproxy.ErrCredentials},
		"share":    {`\\fs.emulated\missing`, credentials, csiproxy.ErrShareNotFound},
		"name":     {`\\fs.emulated\a|b`, credentials, nil},
		"no share": {`\\fs.emulated`, credentials, nil},
		"server":   {`\\nobody.emulated\share`, credentials, csiproxy.ErrServerUnreachable},
		"user": {`\\fs.emulated\other`, mounter.Credentials{User: "second", Password: "second-password"},
			csiproxy.ErrOtherCredentials},
	} {
		err := m.StageShare(t.Context(), c.remote, targetOf("b"), c.with)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Contains(err.Error(), c.with.Password) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if left := n.Mappings(); len(left) != 1 {
			t.Errorf("%s: mapped are %v", name, left)
		}
		check(t, "making kubelet's directory", m.Mkdir(t.Context(), targetOf("b")))
		check(t, "staging the right share", m.StageShare(t.Context(), anyShare+`\dir`, targetOf("b"), credentials))
		check(t, "unstaging", m.Unstage(t.Context(), targetOf("b")))
	}
	if text := fmt.Sprintf("%v %+v %#v", credentials, credentials, credentials); strings.Contains(text, "password") {
		t.Errorf("the password is printed: %s", text)
	}
	check(t, "unstaging", m.Unstage(t.Context(), targetOf("a")))
	if left := n.Mappings(); len(left) > 0 {
		t.Errorf("mappings stayed: %v", left)
	}
}
