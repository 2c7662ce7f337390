// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// Where two drivers stage a share by steps, and one by the smb group.
const (
	firstStage  = KubeletDir + `\plugins\first`
	secondStage = KubeletDir + `\plugins\second`
	smbStage    = KubeletDir + `\smb`
)

func stageAs(ctx context.Context, n *Node, remote, at, user, password string) error {
	_, err := n.Steps.StageShare(ctx, &api.StageShareRequest{RemotePath: remote, TargetPath: at, Username: user,
		Password: password})
	return err
}

// A mapping that another program removed is forgotten: one that comes after it is not the agent's.
func TestUnmappedByOthersIsForgotten(t *testing.T) {
	k, dir := emulate(t, emulated.Options{}), t.TempDir()
	n := newNode(t, k, Config{Records: dir})
	n.EnablePrivileges(t.Context())
	must(t, by(t.Context(), n).StageShare(testShare, firstStage))
	must(t, k.RemoveSMBGlobalMapping(testShare))
	must(t, by(t.Context(), n).Unstage(firstStage))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("records are left: %v, %v", left, err)
	}
}

// The mapping that the smb group asked for stays when the last staged target leaves, whatever the working directories
// are and in whatever order; the steps' own goes with the last target, and not when the smb group gives it up.
func TestLastUserTakesItsOwnMappingOnly(t *testing.T) {
	const plugins, pods = KubeletDir + `\plugins`, KubeletDir + `\pods`
	for _, dirs := range [][]string{
		{KubeletDir}, {KubeletDir, plugins}, {plugins, KubeletDir}, {KubeletDir, plugins, pods}, {KubeletDir, pods, plugins},
		{plugins, KubeletDir, pods}, {plugins, pods, KubeletDir}, {pods, KubeletDir, plugins}, {pods, plugins, KubeletDir},
	} {
		k, dir, ctx := emulate(t, emulated.Options{}), t.TempDir(), t.Context()
		start := func() *Node {
			n := newNode(t, k, Config{Records: dir, WorkingDirs: dirs})
			n.EnablePrivileges(ctx)
			must(t, n.Steps.CleanShares(ctx))
			return n
		}
		n := start()
		must(t, by(ctx, n).NewSmbGlobalMapping(testShare, smbStage, "csi", "csi-password"))
		must(t, by(ctx, n).StageShare(testShare, firstStage))
		must(t, by(ctx, n).Unstage(firstStage))
		wantMapped(t, "the smb group's", k, testShare)
		n = start()
		must(t, by(ctx, n).StageShare(testShare, firstStage))
		must(t, by(ctx, n).Unstage(firstStage))
		wantMapped(t, "the smb group's, after a restart", k, testShare)
		must(t, by(ctx, n).RemoveSmbGlobalMapping(testShare))
		wantMapped(t, "given up", k)
		must(t, by(ctx, n).StageShare(testShare, firstStage))
		must(t, by(ctx, n).StageShare(testShare, secondStage))
		must(t, by(ctx, n).RemoveSmbGlobalMapping(testShare))
		must(t, by(ctx, n).Unstage(firstStage))
		wantMapped(t, "one of two has left", k, testShare)
		n = start()
		must(t, by(ctx, n).Unstage(secondStage))
		wantMapped(t, "both have left", k)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("records are left: %v, %v", left, err)
		}
	}
}

// A mapping of another program stays, and so does that of an earlier release, which recorded targets only.
func TestMappingOfUnknownOriginStays(t *testing.T) {
	k, dir, ctx := emulate(t, emulated.Options{}), t.TempDir(), t.Context()
	n := sharesNode(t, k, dir, nil)
	must(t, k.CreateSMBGlobalMapping(testShare, "csi", kernel.Secret("csi-password"), false))
	for range 2 {
		must(t, by(ctx, n).StageShare(testShare, firstStage))
		must(t, by(ctx, n).Unstage(firstStage))
		wantMapped(t, "another program's", k, testShare)
	}
	must(t, k.SetSMBPassword("csi", "other")) // the steps make it again, which makes it none of theirs
	must(t, stageAs(ctx, n, testShare, firstStage, "csi", "other"))
	must(t, k.SetSMBPassword("csi", "csi-password"))
	must(t, by(ctx, n).StageShare(testShare, firstStage))
	must(t, by(ctx, n).Unstage(firstStage))
	wantMapped(t, "another program's, made again", k, testShare)
	must(t, k.RemoveSMBGlobalMapping(testShare))
	must(t, by(ctx, n).StageShare(testShare, firstStage))
	files, err := filepath.Glob(filepath.Join(dir, "*.share"))
	must(t, err)
	for _, file := range files {
		must(t, os.Remove(file))
	}
	n = sharesNode(t, k, dir, nil)
	must(t, n.Steps.CleanShares(ctx))
	must(t, by(ctx, n).Unstage(firstStage))
	wantMapped(t, "an earlier release's", k, testShare)
	// Names that look like the share's do not unmap it, and cannot be mapped.
	for _, like := range []string{"\\\\fs.emulated\\\u017fhare"} {
		must(t, by(ctx, n).RemoveSmbGlobalMapping(like))
		wantMapped(t, like, k, testShare)
		for what, err := range map[string]error{"mapped": by(ctx, n).NewSmbGlobalMapping(like, "", "csi", "csi-password"),
			"staged": by(ctx, n).StageShare(like, secondStage)} {
			if !errdefs.HasReason(err, reason.InvalidRemotePath) {
				t.Errorf("%s is %s: %v", like, what, err)
			}
		}
	}
}

// Where nothing can be recorded, the smb group maps all the same, and the steps take nothing from it.
func TestAskedForWithoutRoom(t *testing.T) {
	k, dir, ctx := emulate(t, emulated.Options{}), t.TempDir(), t.Context()
	n := sharesNode(t, k, dir, nil)
	must(t, by(ctx, n).StageShare(testShare, firstStage))
	files, err := filepath.Glob(filepath.Join(dir, "*.share"))
	must(t, err)
	must(t, os.Rename(dir, dir+" away"))
	must(t, os.WriteFile(dir, nil, 0o600))
	must(t, by(ctx, n).NewSmbGlobalMapping(testShare, smbStage, "csi", "csi-password"))
	must(t, errors.Join(os.Remove(dir), os.Rename(dir+" away", dir)))
	must(t, by(ctx, n).Unstage(firstStage))
	wantMapped(t, "asked for while the directory was away", k, testShare)
	must(t, by(ctx, n).RemoveSmbGlobalMapping(testShare))
	must(t, by(ctx, n).Rmdir(smbStage, false))
	must(t, by(ctx, n).StageShare(testShare, firstStage))
	must(t, os.MkdirAll(filepath.Join(files[0]+".new", "in the way"), 0o700))
	must(t, by(ctx, n).NewSmbGlobalMapping(testShare, smbStage, "csi", "csi-password"))
	must(t, by(ctx, n).Unstage(firstStage))
	wantMapped(t, "asked for without room", k, testShare)
}

// A list that fails removes nothing, and what is not listed is not removed.
func TestNothingIsRemovedThatIsNotListed(t *testing.T) {
	k, ctx, fails, removed := emulate(t, emulated.Options{}), t.Context(), false, 0
	n := sharesNode(t, k, t.TempDir(), func(_ context.Context, call kernel.Call, do func() error) error {
		switch {
		case call.Function == "SMBGlobalMappings" && fails:
			return &kernel.Error{Function: call.Function, Code: win32.ERROR_ACCESS_DENIED}
		case call.Function == "RemoveSMBGlobalMapping":
			removed++
		}
		return do()
	})
	must(t, by(ctx, n).RemoveSmbGlobalMapping(testShare))
	must(t, by(ctx, n).StageShare(testShare, firstStage))
	fails = true
	for what, err := range map[string]error{"Unstage": by(ctx, n).Unstage(firstStage),
		"RemoveSmbGlobalMapping": by(ctx, n).RemoveSmbGlobalMapping(testShare)} {
		var e *errdefs.Error
		if !errors.As(err, &e) || e.Class != errdefs.Unavailable {
			t.Errorf("%s: got %v, want Unavailable", what, err)
		}
	}
	if removed > 0 {
		t.Errorf("%d removals", removed)
	}
	fails = false
	must(t, by(ctx, n).Unstage(firstStage))
	wantMapped(t, "listed again", k)
}

// A step asks Windows as much with a thousand records of other shares and a thousand links in kubelet's directory.
func TestCostOfShares(t *testing.T) {
	counts := map[int][]string{}
	for _, others := range []int{0, 1000} {
		k, dir, ctx := emulate(t, emulated.Options{}), t.TempDir(), t.Context()
		var mu sync.Mutex
		var calls []string
		n := sharesNode(t, k, dir, func(_ context.Context, call kernel.Call, do func() error) error {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, call.Function)
			return do()
		})
		for i := range others {
			must(t, n.records.Put(records.Use, records.Record{
				Remote: fmt.Sprintf(`\\fs.emulated\other%d`, i), Target: fmt.Sprintf(`%s\plugins\other%d`, KubeletDir, i)}))
		}
		if others > 0 {
			must(t, by(ctx, n).Mkdir(KubeletDir+`\pods\x\volumes\kubernetes.io~csi`))
			for i := range others {
				must(t, by(ctx, n).CreateSymlink(secondStage,
					fmt.Sprintf(`%s\pods\x\volumes\kubernetes.io~csi\pv%d`, KubeletDir, i)))
			}
		}
		calls = nil
		must(t, by(ctx, n).StageShare(testShare, firstStage))
		must(t, by(ctx, n).Unstage(firstStage))
		counts[others] = calls
		wantMapped(t, "unstaged", k)
	}
	if !slices.Equal(counts[0], counts[1000]) {
		t.Errorf("alone %d calls, with others %d", len(counts[0]), len(counts[1000]))
	}
}

// The table of docs/decisions/shares.md: what becomes of a mapping by what its root and its state are, for a user that is
// alone and beside another, in the process that mapped the share and after its restart.
func TestMappingsAreReplacedForNobody(t *testing.T) {
	const used, again, refused = "used", "made again", "refused"
	for _, test := range []struct {
		name                string
		closed, dropped     bool // the root is closed; Windows goes on listing the mapping as disconnected
		remote, user        string
		code                win32.Errno // of opening the root
		alone, beside       string
		aloneNext, besideTo string // after a restart of the agent
	}{
		{"opens, connected", false, false, testShare, "second", 0, used, used, used, used},
		{"opens, disconnected, the same credentials", false, true, testShare, "csi", 0, used, used, again, again},
		{"opens, disconnected, others", false, true, testShare, "second", 0, again, used, again, again},
		{"denied, disconnected, the same", true, true, testShare, "csi", 0, used, used, again, again},
		{"denied, disconnected, others", true, true, testShare, "second", 0, again, refused, again, again},
		{"denied, connected, the same", true, false, testShare, "csi", 0, used, used, again, used},
		{"denied, connected, the folder answers", true, false, testShare + `\dir`, "second", 0, used, used, used, used},
		{"denied, connected, no such folder", true, false, testShare + `\none`, "second", 0, used, used, used, used},
		{"denied, connected, others", true, false, testShare, "second", 0, again, refused, again, used},
		{"logon failure", false, false, testShare, "csi", win32.ERROR_LOGON_FAILURE, again, again, again, again},
		{"server away", false, false, testShare, "csi", win32.ERROR_BAD_NETPATH, refused, refused, refused, refused},
	} {
		for i, want := range []string{test.alone, test.beside, test.aloneNext, test.besideTo} {
			beside, restarted := i%2 == 1, i > 1
			synctest.Test(t, func(t *testing.T) {
				s := scenario.Default()
				s.SMBServers[0].Shares = []smb.Share{{Name: "share", ClosedRoot: test.closed}}
				s.SMBUsers = append(s.SMBUsers, smb.User{Name: "second", Password: "csi-password"})
				k, dir, ctx := emulate(t, emulated.Options{Scenario: &s}), t.TempDir(), t.Context()
				listed := &listedAs{Node: k}
				var removed int
				var code win32.Errno
				around := func(_ context.Context, call kernel.Call, do func() error) error {
					switch {
					case call.Function == "RemoveSMBGlobalMapping":
						removed++
					case code != 0 && call.Function == "OpenFile" && strings.HasPrefix(call.Object, `\\?\UNC`):
						return &kernel.Error{Function: call.Function, Object: call.Object, Code: code}
					}
					return do()
				}
				start := func() *Node {
					n := newNode(t, listed, Config{Records: dir, Interceptor: around})
					n.EnablePrivileges(ctx)
					return n
				}
				n := start()
				must(t, by(ctx, n).StageShare(testShare, firstStage))
				root, err := k.HostPath(firstStage)
				must(t, err)
				must(t, os.Mkdir(filepath.Join(root, "dir"), 0o755))
				if !beside { // the mapping has no user
					must(t, by(ctx, n).Rmdir(firstStage, false))
				}
				if restarted {
					n = start()
				}
				listed.disconnected, code = test.dropped, test.code
				err = stageAs(ctx, n, test.remote, secondStage, test.user, "csi-password")
				got := used
				switch {
				case removed > 0:
					got = again
				case err != nil:
					got = refused
				}
				if got != want || got != refused && err != nil {
					t.Errorf("%s, beside another user: %t, restarted: %t: %s, %v, want %s", test.name, beside, restarted, got, err,
						want)
				}
				mapped, err := k.SMBGlobalMappings()
				if err != nil || len(mapped) != 1 {
					t.Errorf("%s: mapped are %v, %v", test.name, mapped, err)
				}
			})
		}
	}
}

// After a restart of Windows the mapping is gone, or it has lost its credentials: a step makes it again for all its
// users, and the last one takes it along.
func TestOwnedMappingAfterReboot(t *testing.T) {
	for _, stay := range []string{"true", "false"} {
		synctest.Test(t, func(t *testing.T) {
			k, dir, ctx := emulate(t, emulated.Options{}), t.TempDir(), t.Context()
			must(t, k.SetSwitch("mappingsOutliveReboot", stay))
			n := sharesNode(t, k, dir, nil)
			for _, at := range []string{firstStage, secondStage} {
				must(t, by(ctx, n).StageShare(testShare, at))
			}
			must(t, k.Reboot())
			n = sharesNode(t, k, dir, nil)
			must(t, n.Steps.CleanShares(ctx))
			must(t, by(ctx, n).StageShare(testShare, secondStage))
			if is, err := by(ctx, n).IsSymlink(firstStage); !is || err != nil {
				t.Errorf("mappings stay %s: the other user has its share: %t, %v", stay, is, err)
			}
			must(t, by(ctx, n).Unstage(firstStage))
			wantMapped(t, "one has left", k, testShare)
			must(t, by(ctx, n).Unstage(secondStage))
			wantMapped(t, "both have left", k)
		})
	}
}

// listedAs lists mappings as disconnected.
type listedAs struct {
	*emulated.Node
	disconnected bool
}

func (k *listedAs) SMBGlobalMappings() ([]kernel.SMBGlobalMapping, error) {
	list, err := k.Node.SMBGlobalMappings()
	for i := range list {
		if k.disconnected {
			list[i].Status = win32.SMB_MAPPING_DISCONNECTED
		}
	}
	return list, err
}

func (k *listedAs) RemoveSMBGlobalMapping(remotePath string) error {
	k.disconnected = false
	return k.Node.RemoveSMBGlobalMapping(remotePath)
}
