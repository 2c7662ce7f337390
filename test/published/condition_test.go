// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
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

// TestConditionOfShare: a share is as well as its server and its mapping are.
func TestConditionOfShare(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	stage := func() { check(t, "staging", m.StageShare(t.Context(), anyShare, staging, credentials)) }
	illAt(t, m, reason.NotMounted, `C:\var\lib\kubelet\plugins`)
	if _, err := m.GetVolume(t.Context(), staging); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v, want fs.ErrNotExist", err)
	}
	stage()
	check(t, "publishing", m.Publish(t.Context(), staging, publish))
	wellAt(t, m, "share", staging, publish)
	var end func()
	for _, c := range []struct {
		what, reason string
		kind         error
		breaks, heal func()
	}{
		{"the server is down", reason.NotAnswering, csiproxy.ErrServerUnreachable, func() { n.StopSMBServer("fs.emulated") },
			func() { n.StartSMBServer("fs.emulated") }},
		{"the share is gone", reason.BadNetName, csiproxy.ErrShareNotFound,
			func() { n.RemoveSMBShare("fs.emulated", "share") }, func() { n.AddSMBShare("fs.emulated", "share") }},
		{"the password is another", reason.LogonFailure, csiproxy.ErrCredentials,
			func() { n.SetSMBPassword("csi", "rotated") }, func() { n.SetSMBPassword("csi", "csi-password") }},
		{"the account may not read it", reason.AccessDenied, nil, func() {
			end = n.Fail(csiproxytest.Calls{Function: "OpenFile", Object: `\UNC\`}, csiproxytest.ERROR_ACCESS_DENIED)
		}, func() { end() }},
		{"the node rebooted", reason.AccessDenied, nil, n.Reboot, stage}, // and forgot the credentials of the mapping
	} {
		c.breaks()
		t.Log(c.what)
		illAt(t, m, c.reason, staging, publish)
		for _, kind := range []error{csiproxy.ErrServerUnreachable, csiproxy.ErrCredentials, csiproxy.ErrShareNotFound} {
			if v, _ := m.GetVolume(t.Context(), staging); errors.Is(v.SizeErr, kind) != errors.Is(c.kind, kind) {
				t.Errorf("the sizes fail with %v, and it is %q: %v", v.SizeErr, kind, errors.Is(v.SizeErr, kind))
			}
		}
		c.heal()
		wellAt(t, m, "share", staging, publish)
	}
	hung := csiproxy.SizeError(&csiproxy.GetVolumeResponse{Reason: reason.NotAnswering,
		Code: int32(codes.Unavailable), VolumeId: `\\?\Volume{1}\`})
	if errors.Is(hung, csiproxy.ErrServerUnreachable) {
		t.Errorf("a volume that hangs has no server: %v", hung)
	}
	_, err := n.SMB.RemoveSmbGlobalMapping(t.Context(),
		&csiproxy.RemoveSmbGlobalMappingRequest{RemotePath: anyShare})
	check(t, "another driver's unmapping", err)
	wellAt(t, m, "share", staging, publish)
}

func wellAt(t *testing.T, m *mounter.Mounter, what string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		c, err := m.GetVolume(t.Context(), path)
		if c.Abnormal || c.Reason != "" || c.Message != "the "+what+" is mounted" || c.SizeErr != nil ||
			c.Total == 0 || err != nil {
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
