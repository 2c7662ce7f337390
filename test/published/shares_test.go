// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

const anyShare = `\\fs.emulated\share`

var credentials = mounter.Credentials{User: "csi", Password: "csi-password"}

// TestShareThatBreaks: a share is as well as its server and its mapping are, and what can be healed on the node is
// healed when the volume is published.
func TestShareThatBreaks(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	ctx, at := t.Context(), targetOf("a")
	illAt(t, m, reason.NotMounted, `C:\var\lib\kubelet\plugins`)
	if _, err := m.GetVolume(ctx, at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v, want fs.ErrNotExist", err)
	}
	check(t, "staging", m.StageShare(ctx, anyShare, at, credentials))
	check(t, "publishing", m.Publish(ctx, at, publish))
	reboot := func(mappingsStay string) func() {
		return func() { n.SetSwitch("mappingsOutliveReboot", mappingsStay); n.Reboot() }
	}
	password := credentials
	var end func()
	for _, c := range []struct {
		what, reason string // "": it works on
		kind         error  // of the missing sizes
		breaks       func()
		refused      error  // what publishing ends with meanwhile
		ends         func() // what is done about it elsewhere
	}{
		{"the server is down", reason.NotAnswering, csiproxy.ErrServerUnreachable, func() { n.StopSMBServer("fs.emulated") },
			csiproxy.ErrServerUnreachable, func() { n.StartSMBServer("fs.emulated") }},
		{"the share is gone", reason.BadNetName, csiproxy.ErrShareNotFound,
			func() { n.RemoveSMBShare("fs.emulated", "share") },
			csiproxy.ErrShareNotFound, func() { n.AddSMBShare("fs.emulated", "share") }},
		{"the account may not read it", reason.AccessDenied, nil, func() {
			end = n.Fail(csiproxytest.Calls{Function: "OpenFile", Object: `\UNC\`}, csiproxytest.ERROR_ACCESS_DENIED)
		}, nil, func() { end() }},
		{"a new password", reason.LogonFailure, csiproxy.ErrCredentials,
			func() { password.Password = "rotated"; n.SetSMBPassword("csi", "rotated") }, nil, nil},
		{"a reboot that drops the mappings", reason.NotMounted, nil, reboot("false"), nil, nil},
		{"a reboot that leaves them without credentials", reason.AccessDenied, nil, reboot("true"), nil, nil},
		{"another driver's unmapping", "", nil, func() {
			_, err := n.SMB.RemoveSmbGlobalMapping(ctx, &csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: anyShare})
			check(t, "unmapping", err)
		}, nil, nil},
	} {
		t.Log(c.what)
		c.breaks()
		if c.reason != "" {
			illAt(t, m, c.reason, at, publish)
		} else {
			wellAt(t, m, at, publish)
		}
		for _, kind := range []error{csiproxy.ErrServerUnreachable, csiproxy.ErrCredentials, csiproxy.ErrShareNotFound} {
			if v, _ := m.GetVolume(ctx, at); errors.Is(v.SizeErr, kind) != errors.Is(c.kind, kind) {
				t.Errorf("the sizes fail with %v, and it is %q: %v", v.SizeErr, kind, errors.Is(v.SizeErr, kind))
			}
		}
		if c.refused != nil {
			if err := m.EnsureShare(ctx, anyShare, at, password); !errors.Is(err, c.refused) {
				t.Errorf("EnsureShare meanwhile: %v, want %v", err, c.refused)
			}
		}
		if c.ends != nil {
			c.ends()
		}
		err := m.EnsureShare(ctx, anyShare, at, mounter.Credentials{})
		if err != nil && !errors.Is(err, csiproxy.ErrCredentials) {
			t.Errorf("EnsureShare without credentials: %v, want ErrCredentials or success", err)
		}
		check(t, "healing", m.EnsureShare(ctx, anyShare, at, password))
		wellAt(t, m, at, publish)
	}
	hung := csiproxy.SizeError(&csiproxy.GetVolumeResponse{Reason: reason.NotAnswering,
		Code: int32(codes.Unavailable), VolumeId: `\\?\Volume{1}\`})
	if errors.Is(hung, csiproxy.ErrServerUnreachable) {
		t.Errorf("a volume that hangs has no server: %v", hung)
	}
	n.StopSMBServer("fs.emulated")
	check(t, "unstaging without the server", m.Unstage(ctx, at))
	if left := n.Mappings(); len(left) > 0 {
		t.Errorf("mappings stayed: %v", left)
	}
	if text := fmt.Sprintf("%v %+v %#v", credentials, credentials, credentials); strings.Contains(text, "password") {
		t.Errorf("the password is printed: %s", text)
	}
}

func wellAt(t *testing.T, m *mounter.Mounter, paths ...string) {
	t.Helper()
	for _, path := range paths {
		c, err := m.GetVolume(t.Context(), path)
		if c.Abnormal || c.Reason != "" || c.Message != "the share is mounted" || c.SizeErr != nil || c.Total == 0 ||
			err != nil {
			t.Errorf("the condition at %s is %+v, %v, want normal, sizes and a message", path, c, err)
		}
	}
}

// codeWithoutSizes is the code of a NodeGetVolumeStats by what is wrong.
var codeWithoutSizes = map[string]codes.Code{
	reason.NotMounted: codes.NotFound, reason.NotAnswering: codes.Unavailable, reason.BadNetName: codes.NotFound,
	reason.LogonFailure: codes.Unauthenticated, reason.AccessDenied: codes.PermissionDenied,
}

func illAt(t *testing.T, m *mounter.Mounter, why string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		c, err := m.GetVolume(t.Context(), path)
		named := strings.Contains(strings.ToLower(c.Message), strings.ToLower(strings.ReplaceAll(path, "/", `\`)))
		if !c.Abnormal || c.Reason != why || !named || err != nil ||
			status.Code(c.SizeErr) != codeWithoutSizes[why] ||
			why == reason.NotMounted && !errors.Is(c.SizeErr, csiproxy.ErrNotMounted) {
			t.Errorf("the condition at %s is %+v, %v, want abnormal because of %s", path, c, err, why)
		}
	}
}
