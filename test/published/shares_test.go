// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

const anyShare = `\\fs.emulated\share`

var credentials = mounter.Credentials{User: "csi", Password: "csi-password"}

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
		if volume, err := m.GetVolume(ctx, targetOf("a")); err != nil || volume.Abnormal {
			t.Errorf("%s: %+v, %v", c.what, volume, err)
		}
	}
	n.StopSMBServer("fs.emulated")
	if err := m.EnsureShare(ctx, anyShare, targetOf("a"), password); !errors.Is(err, csiproxy.ErrServerUnreachable) {
		t.Errorf("a server that is down: %v, want ErrServerUnreachable", err)
	}
	check(t, "unstaging without the server", m.Unstage(ctx, targetOf("a")))
	if left := n.Mappings(); len(left) > 0 {
		t.Errorf("mappings stayed: %v", left)
	}
	if text := fmt.Sprintf("%v %+v %#v", credentials, credentials, credentials); strings.Contains(text, "password") {
		t.Errorf("the password is printed: %s", text)
	}
}
