// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
)

// smbNode does what csi-driver-smb v1.20.3 does on a node, in the order in which it does it: by calls of the agent, and
// for the rest with package os, on files that it takes for its own. Each method names the driver's.
type smbNode struct {
	files  *filesystem.Client
	shares *smb.Client
	users  string // the directory with a file for each volume of a share
}

func newSMBNode(t *testing.T) *smbNode {
	t.Helper()
	files, err := filesystem.NewClient()
	check(t, "connecting", err)
	shares, err := smb.NewClient()
	check(t, "connecting", err)
	t.Cleanup(func() { _, _ = files.Close(), shares.Close() })
	return &smbNode{files, shares, `C:\csi\smbmounts`}
}

// ensureMountPoint returns true if there is a link already that leads somewhere, and else makes a directory.
func (n *smbNode) ensureMountPoint(path string) (bool, error) {
	there, err := n.files.PathExists(context.Background(), &filesystemapi.PathExistsRequest{Path: path})
	if err != nil {
		return false, err
	}
	if there.GetExists() {
		is, err := n.files.IsSymlink(context.Background(), &filesystemapi.IsSymlinkRequest{Path: path})
		if err != nil {
			return false, err
		}
		if is.GetIsSymlink() {
			return true, firstName(path)
		}
	}
	return false, os.MkdirAll(path, 0o755)
}

// firstName reads the first name in a directory.
func firstName(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.ReadDir(1); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// rmdir is Rmdir, CleanupMountPoint and preparePublishPath.
func (n *smbNode) rmdir(path string) error {
	_, err := n.files.Rmdir(context.Background(), &filesystemapi.RmdirRequest{Path: path, Force: true})
	return err
}

// stage is NodeStageVolume and SMBMount.
func (n *smbNode) stage(volume, remote, staging string) error {
	if done, err := n.ensureMountPoint(staging); done || err != nil {
		return err
	}
	if err := n.rmdir(staging); err != nil {
		return err
	}
	_, err := n.shares.NewSmbGlobalMapping(context.Background(), &smbapi.NewSmbGlobalMappingRequest{
		LocalPath: staging, RemotePath: remote, Username: `AZURE\csi`, Password: "csi-password",
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(n.usersOf(remote), os.ModeDir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.usersOf(remote), volume), []byte(remote), 0o600)
}

// publish is NodePublishVolume and Mount.
func (n *smbNode) publish(staging, target string) error {
	if done, err := n.ensureMountPoint(target); done || err != nil {
		return err
	}
	if err := n.rmdir(target); err != nil {
		return err
	}
	_, err := n.files.CreateSymlink(context.Background(),
		&filesystemapi.CreateSymlinkRequest{SourcePath: staging, TargetPath: target})
	return err
}

// unstage is NodeUnstageVolume and SMBUnmount: without the link's target it does not know which mapping to remove, and
// leaves it.
func (n *smbNode) unstage(volume, staging string) error {
	if remote, err := os.Readlink(staging); err == nil {
		if err := os.Remove(filepath.Join(n.usersOf(remote), volume)); err != nil {
			return err
		}
		left, err := os.ReadDir(n.usersOf(remote))
		if err == nil && len(left) == 0 {
			_, err = n.shares.RemoveSmbGlobalMapping(context.Background(),
				&smbapi.RemoveSmbGlobalMappingRequest{RemotePath: strings.TrimSuffix(remote, `\`)})
		}
		if err != nil {
			return err
		}
	}
	return n.rmdir(staging)
}

// provision is CreateVolume: the share is mounted in the driver's working directory until the volume's directory is
// made.
func (n *smbNode) provision(volume, remote string) error {
	mount := `C:\csi\work\` + volume
	if err := n.stage(volume, remote, mount); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(mount, volume), 0o755); err != nil {
		return err
	}
	return n.unstage(volume, mount)
}

func (n *smbNode) usersOf(remote string) string {
	return filepath.Join(n.users, strings.ToLower(strings.Trim(remote, `\`)))
}

// Two volumes on one share have the life that csi-driver-smb gives them, in which kubelet repeats what it does. The
// share is unmapped when each of them is made, and with the last that is unstaged. C:\csi, where the driver keeps its
// files, is a working directory of the agent.
func TestOffWindowsSMB(t *testing.T) {
	_, control := offWindows(t)
	node := newSMBNode(t)
	places := func(i int) (volume, staging, target string) {
		return fmt.Sprint("pv-", i), fmt.Sprintf(`%s\plugins\kubernetes.io\csi\smb.csi.k8s.io\%d\globalmount`, kubelet, i),
			fmt.Sprintf(`%s\pods\%d\volumes\kubernetes.io~csi\pv-%d\mount`, kubelet, i, i)
	}
	for i := range 2 {
		volume, _, _ := places(i)
		check(t, "provisioning", node.provision(volume, share))
	}
	if asked := removals(t, control.Admin); len(asked) != 2 {
		t.Errorf("to make two volumes the driver unmapped the share %d times, want twice: %q", len(asked), asked)
	}
	for i := range 2 {
		volume, staging, target := places(i)
		for range 2 {
			check(t, "staging", node.stage(volume, share, staging))
			check(t, "publishing", node.publish(staging, target))
		}
		wantLink(t, staging, share)
		wantLink(t, target, staging)
		write(t, fmt.Sprintf(`%s\from-%d`, target, i), "written by a pod")
	}
	volume, staging, target := places(1)
	wantFile(t, target+`\from-0`, "written by a pod")
	if info, err := os.Stat(target + `\` + volume); err != nil || !info.IsDir() {
		t.Errorf("the volume's directory in the share: %v, %v, want a directory", info, err)
	}
	for i := range 2 {
		volume, staging, target := places(i)
		check(t, "unpublishing", node.rmdir(target))
		if asked := removals(t, control.Admin); len(asked) > 2 {
			t.Errorf("the driver unmaps a share that a volume is staged on: %q", asked)
		}
		check(t, "unstaging", node.unstage(volume, staging))
	}
	if asked := removals(t, control.Admin); len(asked) != 3 {
		t.Errorf("for the last volume the driver unmapped the share %d times, want once: %q", len(asked)-2, asked)
	}
	for _, path := range []string{staging, target} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	state, err := control.Admin.GetFacts(t.Context(),
		&admin.GetFactsRequest{Parts: []admin.Part{admin.Part_PART_MAPPINGS}})
	check(t, "asking for the mappings", err)
	if left := state.GetMappings(); len(left) > 0 {
		t.Errorf("mappings are left: %v", left)
	}
}

// removals returns the requests by which the agent was asked to remove a mapping.
func removals(t *testing.T, agent nodeapi.EmulatedNodeClient) (requests []string) {
	t.Helper()
	answer, err := agent.ListJournal(t.Context(), &nodeapi.ListJournalRequest{Method: "smb/RemoveSmbGlobalMapping"})
	check(t, "reading the journal", err)
	for _, e := range answer.GetEntries() {
		if e.GetApi() != nil {
			requests = append(requests, e.GetApi().GetRequest())
		}
	}
	return requests
}
