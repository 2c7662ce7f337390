// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestAgentKilledBeforeTheFirstStep: a group that was not called yet is waited for when the agent dies, as others are.
// An error says whether the agent is gone or only the group's pipe, and which pipe, and is of one kind.
func TestAgentKilledBeforeTheFirstStep(t *testing.T) {
	k := killed{dir: testnode.ShortDir(t)}
	client := func(o csiproxy.Options) *mounter.Mounter {
		o.SocketDir = k.sockets()
		c := csiproxy.New(o)
		t.Cleanup(func() { _ = c.Close() })
		return mounter.New(c)
	}
	known := func(restart time.Duration) *mounter.Mounter {
		m := client(csiproxy.Options{Restart: restart})
		if _, err := m.PathExists(t.Context(), `C:\var\lib\kubelet`); err != nil {
			t.Fatal(err)
		}
		return m
	}
	stage := func(m *mounter.Mounter) error {
		_, err := m.StageDisk(t.Context(), mounter.ByNumber(77), `C:\var\lib\kubelet\x`, mounter.StageOptions{})
		return err
	}
	wants := func(what string, err, kind error, code codes.Code, text string) {
		t.Helper()
		if errors.Is(err, csiproxy.ErrNoAgent) != (kind == csiproxy.ErrNoAgent) || !errors.Is(err, kind) ||
			errors.Is(err, csiproxy.ErrUnsupported) != (kind == csiproxy.ErrUnsupported) ||
			status.Code(err) != code || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v (%v), want only %v (%v) with %q", what, err, status.Code(err), kind, code, text)
		}
	}

	agent := k.launch(t)
	impatient, patient := known(time.Second), known(0)
	agent.Kill()
	wants("killed", stage(impatient), csiproxy.ErrNoAgent, codes.Unavailable,
		`nothing listens at \\.\pipe\csi-proxy-nodesteps-v1alpha1 (unix socket `)
	wants("a first call", stage(client(csiproxy.Options{})), csiproxy.ErrNoAgent, codes.Unavailable, "nothing listens")
	waiting := make(chan error, 1)
	go func() { waiting <- stage(patient) }()
	agent = k.launch(t)
	wants("started again", <-waiting, csiproxy.ErrDiskNotFound, codes.NotFound, "77")

	partial := client(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
		if group == "volume" {
			group = "elsewhere"
		}
		return `\\.\pipe\csi-proxy-` + group + "-" + v.String()
	}})
	_, err := partial.DeviceOf(t.Context(), `C:\var\lib\kubelet`)
	wants("a pod without a pipe", err, csiproxy.ErrNoAgent, codes.Unavailable,
		`the pipe \\.\pipe\csi-proxy-elsewhere-v2alpha1 is not in this pod`)
	agent.Kill()

	testnode.LaunchEmulated(t, "-state-dir="+k.dir, "-socket-dir="+k.sockets(), "-api=nodesteps=off")
	wants("off", stage(known(0)), csiproxy.ErrUnsupported, codes.Unimplemented, "-nodesteps-v1alpha1")
}
