// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	crand "crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

var credentials = mounter.Credentials{User: "csi", Password: "csi-password"}

// shareNode is a node whose mappings a test can list, and a directory for records.
type shareNode struct {
	*csiproxytest.Node
	emulated *emulated.Node
	records  string
}

func startShares(t *testing.T) shareNode { t.Helper(); return startScenario(t, nil) }

func startScenario(t *testing.T, s *emulated.Scenario) shareNode {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir is too long for a socket
	check(t, "making a directory", err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a, err := emulation.Start(t.Context(), emulation.Config{
		StateDir: dir, Node: emulated.Options{Scenario: s},
		Config: agent.Config{
			WorkingDirs: []string{csiproxytest.KubeletDir},
			PipePrefix:  "shares-" + crand.Text() + "-", // on Windows, as these tests run in parallel
		},
	})
	check(t, "starting the node", err)
	return shareNode{csiproxytest.FromAgent(t, a), a.Harness.Node, t.TempDir()}
}

// shares returns a driver's shares, as a driver that has just started.
func (n shareNode) shares() *mounter.Shares { return mounter.New(n.Client()).Shares(n.records) }

func (n shareNode) mapped(t *testing.T, share string) bool {
	t.Helper()
	mappings, err := n.emulated.SMBGlobalMappings()
	check(t, "listing the mappings", err)
	for _, m := range mappings {
		if strings.EqualFold(m.RemotePath, share) {
			return true
		}
	}
	return false
}

func targetOf(volume string) string {
	return `\var\lib\kubelet\plugins\kubernetes.io\csi\example\` + volume + `\globalmount`
}

// TestSharesLife: volumes of two drivers in one share have one mapping, which goes with the last.
func TestSharesLife(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	one, other := n.shares(), n.shares()
	const share = `\\fs.emulated\share`
	for range 2 {
		check(t, "staging the first", one.Stage(ctx, `//fs.emulated/share`, targetOf("a"), credentials))
		check(t, "staging the second", other.Stage(ctx, `\\FS.emulated\Share\dir`, targetOf("b"), credentials))
	}
	check(t, "staging another share", one.Stage(ctx, `\\fs.emulated\other`, targetOf("c"), credentials))
	status, err := n.shares().Status(ctx, targetOf("b"))
	if err != nil || status.Remote != `\\FS.emulated\Share\dir` || len(status.Users) != 2 {
		t.Errorf("Status = %+v, %v, want two users", status, err)
	}
	if err := one.Stage(ctx, `\\fs.emulated\other`, targetOf("a"), credentials); !errors.Is(err, csiproxy.ErrPathExists) {
		t.Errorf("staging another share there: %v, want ErrPathExists", err)
	}
	for range 2 {
		check(t, "unstaging one", one.Unstage(ctx, targetOf("a")))
	}
	if !n.mapped(t, share) {
		t.Fatal("the mapping was removed under a volume")
	}
	for range 2 {
		check(t, "unstaging the last", n.shares().Unstage(ctx, targetOf("b")))
	}
	if n.mapped(t, share) {
		t.Error("the mapping stayed after the last volume")
	}
	if !n.mapped(t, `\\fs.emulated\other`) {
		t.Error("the mapping of the other share went, too")
	}
	check(t, "unstaging the other share", other.Unstage(ctx, targetOf("c")))
	if left, _ := filepath.Glob(filepath.Join(n.records, "*.json")); len(left) > 0 {
		t.Errorf("records stayed: %q", left)
	}
	if err := one.Ensure(ctx, targetOf("a"), credentials); !errors.Is(err, mounter.ErrNotStaged) {
		t.Errorf("Ensure afterwards: %v, want ErrNotStaged", err)
	}
	if err := one.Stage(ctx, `\\fs.emulated`, targetOf("a"), credentials); err == nil {
		t.Error("a server without a share was staged")
	}
}

// TestSharesOfFailedStages: of a share that was not mapped nothing is recorded. Where that is not known, the record
// goes with the mapping.
func TestSharesOfFailedStages(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	records := func(what string, want int) {
		t.Helper()
		if got, _ := filepath.Glob(filepath.Join(n.records, "*.json")); len(got) != want {
			t.Errorf("%s: %d records, want %d", what, len(got), want)
		}
	}
	fails := func(target string, c mounter.Credentials, want error) {
		t.Helper()
		if err := n.shares().Stage(ctx, share, target, c); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("staging: %v, want %v", err, want)
		}
	}
	fails(targetOf("a"), mounter.Credentials{User: "csi", Password: "wrong"}, csiproxy.ErrCredentials)
	records("a wrong password", 0)
	if err := n.shares().Stage(ctx, `\\fs.emulated\none`, targetOf("a"), credentials); !errors.Is(err,
		csiproxy.ErrShareNotFound) {
		t.Errorf("staging a share that is not there: %v", err)
	}
	records("no such share", 0)
	n.StopSMBServer("fs.emulated")
	fails(targetOf("a"), credentials, csiproxy.ErrServerUnreachable)
	records("a server that is down", 0)
	n.StartSMBServer("fs.emulated")

	end := n.FailRPCAfter(csiproxytest.Calls{Method: "smb/NewSmbGlobalMapping"}, codes.Internal, "the node failed")
	fails(targetOf("a"), credentials, nil)
	end()
	records("an answer that was lost", 1)
	n.StopSMBServer("fs.emulated")
	n.Reboot()
	fails(targetOf("a"), credentials, nil)
	records("a share that an earlier call may have mapped", 1)
	n.StartSMBServer("fs.emulated")

	check(t, "staging another volume", n.shares().Stage(ctx, share, targetOf("b"), credentials))
	check(t, "removing the first one's link", mounter.New(n.Client()).Unmount(targetOf("a")))
	check(t, "unstaging the other", n.shares().Unstage(ctx, targetOf("b")))
	records("the mapping is gone", 0)
	if n.mapped(t, share) {
		t.Error("the share is still mapped")
	}
}

// TestSharesOneAtATime: while one driver removes the mapping of a share, another does not stage a volume in it, which
// would lose the mapping.
func TestSharesOneAtATime(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	check(t, "staging", n.shares().Stage(ctx, share, targetOf("a"), credentials))
	reached, release := n.Hang(csiproxytest.Calls{Method: "smb/RemoveSmbGlobalMapping"})
	unstaged := make(chan error, 1)
	one, other := n.shares(), n.shares()
	go func() { unstaged <- one.Unstage(ctx, targetOf("a")) }()
	<-reached
	soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := other.Stage(soon, share, targetOf("b"), credentials); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("staging while the mapping is being removed: %v, want DeadlineExceeded", err)
	}
	release()
	check(t, "unstaging", <-unstaged)
	check(t, "staging afterwards", other.Stage(ctx, share, targetOf("b"), credentials))
	if status, err := other.Status(ctx, targetOf("b")); err != nil || status.Condition.Abnormal {
		t.Errorf("the share is %+v, %v", status, err)
	}
	check(t, "unstaging", other.Unstage(ctx, targetOf("b")))
}
