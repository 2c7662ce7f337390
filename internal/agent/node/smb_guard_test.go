// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// slowShare is a node whose calls for files on shares wait until they are let go.
type slowShare struct {
	*Node
	emulated *emulated.Node
	mu       sync.Mutex
	hold     func(call kernel.Call) bool
	unblock  chan struct{}
	held     atomic.Int32
}

func newSlowShare(t *testing.T) *slowShare {
	t.Helper()
	s := &slowShare{unblock: make(chan struct{})}
	s.Node, s.emulated = smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		s.mu.Lock()
		hold := s.hold != nil && s.hold(call)
		s.mu.Unlock()
		if hold {
			s.held.Add(1)
			<-s.unblock
		}
		return do()
	})
	for _, name := range []string{"share", "other"} {
		link := testLink + name
		if err := by(t.Context(), s.Node).NewSmbGlobalMapping(`\\fs.emulated\`+name, link, "csi",
			"csi-password"); err != nil {
			t.Fatal(err)
		}
		host, err := s.emulated.HostPath(link)
		if err == nil {
			err = os.MkdirAll(filepath.Join(host, "dir", "below"), 0o750)
		}
		must(t, err)
	}
	return s
}

func (s *slowShare) holdCalls(hold func(call kernel.Call) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
}

// onShareOf reports whether a call opens a file on a share by a path or below an open directory.
func onShareOf(name string) func(kernel.Call) bool {
	return func(call kernel.Call) bool {
		return call.Function == "OpenFile" && strings.HasPrefix(call.Object, `\\?\UNC\fs.emulated\`+name)
	}
}

// A look into a share whose server hangs ends by itself, delays neither the look into another nor the removal of the
// mapping, and leaves another look no wait once it is known to hang.
func TestLooksDelayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newSlowShare(t)
		links, err := n.Filesystem.Links(t.Context())
		if err != nil || len(links.Shares) != 2 || !links.Complete {
			t.Fatalf("the links to shares: %+v, %v", links, err)
		}
		n.holdCalls(onShareOf("share"))
		var failures map[string]error
		var look sync.WaitGroup
		look.Go(func() { failures, err = n.SMB.Look(t.Context(), links.Shares) })
		synctest.Wait()
		if n.held.Load() != 1 {
			t.Fatal("the look is not on the share")
		}
		unmapped := false
		look.Go(func() {
			if err := by(t.Context(), n.Node).RemoveSmbGlobalMapping(testShare); err != nil {
				t.Errorf("removing the mapping: %v", err)
			}
			unmapped = true
		})
		synctest.Wait()
		if !unmapped {
			t.Error("the removal of the mapping waits for the look")
		}
		look.Wait()
		if err != nil || len(failures) != 1 || !errdefs.HasReason(failures[testShare], reason.NotAnswering) {
			t.Errorf("got %v, %v, want one share that does not answer", failures, err)
		}
		close(n.unblock)
	})
}

// A share is not unmapped between a walk's look at the mapping and its last opening of a file there, so no server is
// met without a mapping. The mapping of another share is removed meanwhile.
func TestNoUnmappingUnderAWalk(t *testing.T) {
	for name, test := range map[string]struct {
		hold func(kernel.Call) bool
		walk func(ctx context.Context, n *Node) error
	}{
		"below the root": {func(call kernel.Call) bool {
			return onShareOf("share")(call) && strings.HasSuffix(call.Object, "below")
		}, func(ctx context.Context, n *Node) error {
			_, err := by(ctx, n).PathExists(testLink + `share\dir\below`)
			return err
		}},
		"within a change": {func(call kernel.Call) bool {
			return onShareOf("share")(call) && strings.HasSuffix(call.Object, "below")
		}, func(ctx context.Context, n *Node) error {
			return by(ctx, n).RmdirContents(testLink + `share\dir`)
		}},
		"while a link is asked about": {onShareOf("share"), func(ctx context.Context, n *Node) error {
			is, err := by(ctx, n).IsSymlink(testLink + `share`)
			if err == nil && !is {
				err = errors.New("the link leads nowhere")
			}
			return err
		}},
		"while its size is asked for": {func(call kernel.Call) bool { return call.Function == "FsInformation" },
			func(ctx context.Context, n *Node) error {
				_, _, err := by(ctx, n).GetVolume(testLink + `share`)
				return err
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newSlowShare(t)
				n.holdCalls(test.hold)
				var walk, unmap sync.WaitGroup
				walk.Go(func() {
					if err := test.walk(t.Context(), n.Node); err != nil {
						t.Errorf("the walk: %v", err)
					}
				})
				synctest.Wait()
				if n.held.Load() != 1 {
					t.Fatal("the walk is not on the share")
				}
				unmapped := false
				unmap.Go(func() {
					if err := by(t.Context(), n.Node).RemoveSmbGlobalMapping(testShare); err != nil {
						t.Errorf("removing the mapping: %v", err)
					}
					unmapped = true
				})
				synctest.Wait()
				if unmapped {
					t.Error("the mapping was removed under the walk")
				}
				if err := by(t.Context(), n.Node).RemoveSmbGlobalMapping(`\\fs.emulated\other`); err != nil {
					t.Errorf("removing another mapping: %v", err)
				}
				close(n.unblock)
				walk.Wait()
				unmap.Wait()
				if got := n.emulated.SMBContactsWithoutMapping(); got != 0 {
					t.Errorf("%d contacts without a mapping", got)
				}
			})
		})
	}
}

// Removals that hang at one server leave the mappings of other servers free; a further one of that server is told so.
func TestHangingRemovalsAreCountedByServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		described := scenario.Default()
		described.SMBServers = []smb.Server{
			{Name: "dead", Shares: []smb.Share{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
			{Name: "well", Shares: []smb.Share{{Name: "a"}}},
		}
		unblock, hanging := make(chan struct{}), false
		n := newNode(t, emulate(t, emulated.Options{Scenario: &described}), Config{
			Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
				if hanging && call.Function == "RemoveSMBGlobalMapping" && strings.Contains(call.Object, "dead") {
					<-unblock
				}
				return do()
			}})
		for _, share := range []string{`\\dead\a`, `\\dead\b`, `\\dead\c`, `\\well\a`} {
			must(t, by(t.Context(), n).NewSmbGlobalMapping(share, "", "csi", "csi-password"))
		}
		hanging = true
		var removals sync.WaitGroup
		for _, share := range []string{`\\dead\a`, `\\dead\b`} {
			removals.Go(func() {
				if err := by(t.Context(), n).RemoveSmbGlobalMapping(share); err != nil {
					t.Errorf("%s, in the end: %v", share, err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		must(t, by(t.Context(), n).RemoveSmbGlobalMapping(`\\well\a`))
		must(t, by(t.Context(), n).NewSmbGlobalMapping(`\\well\a`, "", "csi", "csi-password"))
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("another server's mapping waited for %v", waited)
		}
		wantError(t, by(t.Context(), n).RemoveSmbGlobalMapping(`\\dead\c`), errdefs.Unavailable, reason.NotAnswering)
		close(unblock)
		removals.Wait()
	})
}
