// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// The state of a node can be asked for without its journal, even while its Windows hangs.
func TestState(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	n.AddSMBUser("alice", "a-password")
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol-1"})
	if err := newPlugin(t, n).Stage(t.Context(), "vol-1", staging); err != nil {
		t.Fatal(err)
	}
	link, on := n.KubeletDir()+`\pods\link`, by(t, n)
	if err := errors.Join(
		on.NewSmbGlobalMapping(`\\fs.emulated\share`, "", "alice", "a-password"),
		on.AddTargetPortal(calls.Array),
		on.ConnectTarget("iqn.2026-01.emulated:open"),
		on.CreateSymlink(staging, link),
	); err != nil {
		t.Fatal(err)
	}
	newest := n.Newest()
	n.Hang(csiproxytest.Calls{Function: "SMBGlobalMappings"})
	if got, want := n.Mappings(), []csiproxytest.Mapping{{Share: `\\fs.emulated\share`, Status: "OK"}}; !slices.Equal(got,
		want) {
		t.Errorf("mappings: got %v, want %v", got, want)
	}
	if got, want := n.Sessions(), []csiproxytest.Session{{Target: "iqn.2026-01.emulated:open",
		Connected: true}}; !slices.Equal(got, want) {
		t.Errorf("sessions: got %v, want %v", got, want)
	}
	if got := n.Mounts(); len(got) != 1 || got[0].Path != staging {
		t.Errorf("mounts: got %v", got)
	}
	if got, want := n.Links(n.KubeletDir()),
		[]csiproxytest.Link{{Path: link, Target: staging}}; !slices.Equal(got, want) {
		t.Errorf("links: got %v, want %v", got, want)
	}
	if n.Newest() != newest {
		t.Error("the questions are in the journal")
	}
}

// by returns the calls of a node's clients.
func by(t testing.TB, n *csiproxytest.Node) *calls.Calls {
	t.Helper()
	return calls.By(t.Context(), func() *csiproxy.Client {
		return &csiproxy.Client{Disk: n.Disk, Filesystem: n.Filesystem, ISCSI: n.ISCSI, SMB: n.SMB, System: n.System,
			Volume: n.Volume}
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	after := n.Newest()
	done := make(chan error, 1)
	go func() { done <- mkdir(t.Context(), n) }()
	if call := n.Wait(csiproxytest.Query{After: after, Method: "filesystem/Mkdir"}); call.GetSequence() <= after {
		t.Errorf("got %v", call)
	}
	n.WaitFor(func() bool { return len(n.Find(csiproxytest.Query{After: after, Method: "filesystem/Mkdir"})) > 1 })
	if err := <-done; err != nil {
		t.Error(err)
	}
}
