// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestSharesHeal: what breaks a share under a volume is healed when the volume is published.
func TestSharesHeal(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	check(t, "staging", n.shares().Stage(ctx, `\\fs.emulated\share`, targetOf("a"), credentials))
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
		{"another program", func() { check(t, "unmapping", mounter.New(n.Client()).UnmapShare(ctx, `\\fs.emulated\share`)) }},
	} {
		c.breaks()
		shares := n.shares()
		if err := shares.Ensure(ctx, targetOf("a"), mounter.Credentials{}); err != nil &&
			!errors.Is(err, csiproxy.ErrCredentials) {
			t.Errorf("%s: Ensure without credentials: %v, want ErrCredentials or success", c.what, err)
		}
		check(t, c.what, shares.Ensure(ctx, targetOf("a"), password))
		if status, err := shares.Status(ctx, targetOf("a")); err != nil || status.Condition.Abnormal {
			t.Errorf("%s: %+v, %v", c.what, status, err)
		}
	}
	n.StopSMBServer("fs.emulated")
	if err := n.shares().Ensure(ctx, targetOf("a"), password); !errors.Is(err, csiproxy.ErrServerUnreachable) {
		t.Errorf("a server that is down: %v, want ErrServerUnreachable", err)
	}
	check(t, "unstaging without the server", n.shares().Unstage(ctx, targetOf("a")))
	if n.mapped(t, `\\fs.emulated\share`) {
		t.Error("the mapping stayed")
	}
}

// TestSharesErrors: the kinds of failures are told apart.
func TestSharesErrors(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	n.AddSMBUser("second", "second-password")
	check(t, "staging", n.shares().Stage(t.Context(), `\\fs.emulated\share`, targetOf("a"), credentials))
	for name, c := range map[string]struct {
		remote string
		with   mounter.Credentials
		want   error
	}{
		"password": {`\\new.emulated\share`, mounter.Credentials{User: "csi", Password: "hunter2"}, csiproxy.ErrCredentials},
		"share":    {`\\fs.emulated\missing`, credentials, csiproxy.ErrShareNotFound},
		"server":   {`\\nobody.emulated\share`, credentials, csiproxy.ErrServerUnreachable},
		"user": {`\\fs.emulated\other`, mounter.Credentials{User: "second", Password: "second-password"},
			csiproxy.ErrOtherCredentials},
	} {
		n.AddSMBShare("new.emulated", "share")
		err := n.shares().Stage(t.Context(), c.remote, targetOf(name), c.with)
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), c.with.Password) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		check(t, "unstaging after the failure", n.shares().Unstage(t.Context(), targetOf(name)))
	}
	check(t, "unstaging", n.shares().Unstage(t.Context(), targetOf("a")))
}

// TestSharesInterrupted: after a failure before or after any call of the API, staging or unstaging again comes to the
// same end, and no mapping stays that no volume uses.
func TestSharesInterrupted(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	for call := range 12 {
		if !testnode.Sampled(t, call, 1, 4) {
			continue
		}
		fail := n.FailRPC
		if call%2 == 1 {
			fail = n.FailRPCAfter
		}
		withFault := func(do func() error) {
			end := fail(csiproxytest.Calls{Method: "*", Skip: call / 2, Times: 1}, codes.Internal, "the node failed")
			_ = do()
			end()
		}
		withFault(func() error { return n.shares().Stage(ctx, share, targetOf("a"), credentials) })
		check(t, "cleaning", n.shares().Clean(ctx))
		if n.mapped(t, share) {
			if status, err := n.shares().Status(ctx, targetOf("a")); err != nil || len(status.Users) == 0 {
				t.Errorf("call %d of staging failed, and the share is mapped without a user: %+v, %v", call, status, err)
			}
		}
		check(t, "staging again", n.shares().Stage(ctx, share, targetOf("a"), credentials))
		check(t, "staging another", n.shares().Stage(ctx, share, targetOf("b"), credentials))
		withFault(func() error { return n.shares().Unstage(ctx, targetOf("a")) })
		check(t, "unstaging again", n.shares().Unstage(ctx, targetOf("a")))
		if !n.mapped(t, share) {
			t.Errorf("call %d of unstaging failed, and the mapping was removed under a volume", call)
		}
		withFault(func() error { return n.shares().Unstage(ctx, targetOf("b")) })
		check(t, "unstaging the last again", n.shares().Unstage(ctx, targetOf("b")))
		if n.mapped(t, share) {
			t.Errorf("call %d of unstaging the last failed, and the mapping stayed", call)
		}
	}
}
