// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

const otherShare = `\\fs.emulated\other`

// sharesNode returns a Node that keeps records in a directory.
func sharesNode(t *testing.T, k *emulated.Node, dir string, around kernel.Interceptor) *Node {
	t.Helper()
	n := newNode(t, k, Config{Records: dir, Interceptor: around})
	n.EnablePrivileges(t.Context())
	return n
}

// stageAndLose stages a share, and removes the link to it.
func stageAndLose(t *testing.T, n *Node, share, at string) {
	t.Helper()
	must(t, by(t.Context(), n).StageShare(share, at))
	must(t, by(t.Context(), n).Rmdir(at, false))
}

func wantMapped(t *testing.T, when string, k *emulated.Node, want ...string) {
	t.Helper()
	mappings, err := k.SMBGlobalMappings()
	must(t, err)
	var got []string
	for _, m := range mappings {
		got = append(got, m.RemotePath)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: mapped are %q, want %q", when, got, want)
	}
}

// An agent that dies before its link to a share is there leaves a record, by which the next one removes the mapping. If
// the death comes before the agent has noted that the mapping is its own, the mapping stays.
func TestStageShareRecordsFirst(t *testing.T) {
	k, dir, unsure, sure := emulate(t, emulated.Options{}), t.TempDir(), t.TempDir(), t.TempDir()
	n := sharesNode(t, k, dir, func(_ context.Context, call kernel.Call, do func() error) error {
		err := do()
		switch {
		case call.Function == "CreateSMBGlobalMapping":
			err = errors.Join(err, os.CopyFS(unsure, os.DirFS(dir)))
		case call.Code == win32.FSCTL_SET_REPARSE_POINT:
			err = errors.Join(err, os.CopyFS(sure, os.DirFS(dir)))
		}
		return err
	})
	stageAndLose(t, n, testShare, stage)
	wantMapped(t, "staged", k, testShare)
	must(t, sharesNode(t, k, unsure, nil).Steps.CleanShares(t.Context()))
	wantMapped(t, "cleaned after a death with the mapping", k, testShare)
	must(t, sharesNode(t, k, sure, nil).Steps.CleanShares(t.Context()))
	wantMapped(t, "cleaned after a death with the link", k)
}

// An agent that dies while it makes its own mapping again does not know whose the mapping is that is there afterwards.
func TestMappingMadeAgainIsRecordedFirst(t *testing.T) {
	k, dir, died, refused := emulate(t, emulated.Options{}), t.TempDir(), t.TempDir(), false
	n := sharesNode(t, k, dir, func(_ context.Context, call kernel.Call, do func() error) error {
		if refused && call.Function == "OpenFile" && strings.Contains(call.Object, "fs.emulated") {
			refused = false
			return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_LOGON_FAILURE}
		}
		err := do()
		if call.Function == "RemoveSMBGlobalMapping" {
			err = errors.Join(err, os.CopyFS(died, os.DirFS(dir)))
		}
		return err
	})
	stageAndLose(t, n, testShare, stage)
	refused = true
	stageAndLose(t, n, testShare, stage)
	if all, err := os.ReadDir(died); len(all) == 0 || err != nil {
		t.Fatalf("the mapping was not made again: %v, %v", all, err)
	}
	must(t, sharesNode(t, k, died, nil).Steps.CleanShares(t.Context()))
	wantMapped(t, "cleaned after a death between two mappings", k, testShare)
}

// CleanShares names a share whose directory cannot be used, and keeps its record; it cleans the others. While the
// working directory cannot be used, it keeps them all.
func TestCleanSharesOfUnusableDirectories(t *testing.T) {
	const broken = KubeletDir + `\plugins\broken`
	k, denied := emulate(t, emulated.Options{}), ""
	n := sharesNode(t, k, t.TempDir(), func(_ context.Context, call kernel.Call, do func() error) error {
		if denied != "" && call.Function == "OpenFile" && strings.Contains(call.Object+`\`, denied+`\`) {
			return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_ACCESS_DENIED}
		}
		return do()
	})
	stageAndLose(t, n, testShare, broken+`\first`)
	stageAndLose(t, n, otherShare, stage)
	stageAndLose(t, n, testShare, broken+`\last`)
	for _, test := range []struct {
		denied, text string
		mapped       []string
	}{
		{KubeletDir, "", []string{otherShare, testShare}},
		{broken, broken + `\first`, []string{testShare}},
		{"", "", nil},
	} {
		denied = test.denied
		err := n.Steps.CleanShares(t.Context())
		if (err != nil) != (test.text != "") || err != nil && !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s cannot be opened: got %v, want %q", denied, err, test.text)
		}
		wantMapped(t, denied+" cannot be opened", k, test.mapped...)
	}
}
