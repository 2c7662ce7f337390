// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"slices"
	"testing"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
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
	portal := &iscsiapi.TargetPortal{TargetAddress: "192.0.2.10"}
	link := n.KubeletDir() + `\pods\link`
	ctx := t.Context()
	for _, err := range []error{
		done(n.SMB.NewSmbGlobalMapping(ctx, &smbv1.NewSmbGlobalMappingRequest{RemotePath: `\\fs.emulated\share`,
			Username: "alice", Password: "a-password"})),
		done(n.ISCSI.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal})),
		done(n.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal})),
		done(n.ISCSI.ConnectTarget(ctx,
			&iscsiapi.ConnectTargetRequest{TargetPortal: portal, Iqn: "iqn.2026-01.emulated:open"})),
		done(n.Filesystem.CreateSymlink(ctx,
			&filesystemapi.CreateSymlinkRequest{SourcePath: staging, TargetPath: link})),
	} {
		if err != nil {
			t.Fatal(err)
		}
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

func done[T any](_ T, err error) error { return err }

func TestWait(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	after := n.Newest()
	done := make(chan error, 1)
	go func() {
		_, err := n.Filesystem.Mkdir(t.Context(), &filesystemapi.MkdirRequest{Path: n.KubeletDir() + `\pods\p`})
		done <- err
	}()
	if call := n.Wait(csiproxytest.Query{After: after, Method: "filesystem/Mkdir"}); call.GetSequence() <= after {
		t.Errorf("got %v", call)
	}
	n.WaitFor(func() bool { return len(n.Find(csiproxytest.Query{After: after, Method: "filesystem/Mkdir"})) > 1 })
	if err := <-done; err != nil {
		t.Error(err)
	}
}
