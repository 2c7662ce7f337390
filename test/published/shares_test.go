// SPDX-License-Identifier: Apache-2.0

package published

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

var credentials = mounter.Credentials{User: "csi", Password: "csi-password"}

// shareNode is a node whose mappings a test can list, and a directory for records.
type shareNode struct {
	*csiproxytest.Node
	emulated func() *emulated.Node
	records  string
}

func startShares(t *testing.T) shareNode {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir is too long for a socket
	check(t, "making a directory", err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a, err := agent.Start(t.Context(), agent.Config{
		StateDir: dir, Emulated: emulated.Options{NoSync: true}, WorkingDirs: []string{csiproxytest.KubeletDir},
		PipePrefix: "shares-" + crand.Text() + "-", // on Windows, as these tests run in parallel
	})
	check(t, "starting the node", err)
	return shareNode{csiproxytest.Over(t, a), a.Emulated, t.TempDir()}
}

// shares returns a driver's shares, as a driver that has just started.
func (n shareNode) shares() *mounter.Shares { return mounter.New(n.Client()).Shares(n.records) }

// seeing returns a mounter that sees kubelet's directory.
func (n shareNode) seeing() *mounter.Mounter {
	return mounter.New(n.Client()).WithKubelet(csiproxytest.KubeletDir, kubeletFiles{os.DirFS(n.HostPath(csiproxytest.KubeletDir)).(fs.ReadLinkFS), n})
}

// kubeletFiles is kubelet's directory on the machine of the test, with the links that the node's Windows shows.
type kubeletFiles struct {
	fs.ReadLinkFS
	node shareNode
}

func (f kubeletFiles) ReadLink(name string) (string, error) {
	return f.node.emulated().Readlink(csiproxytest.KubeletDir + `\` + strings.ReplaceAll(name, "/", `\`))
}

func (n shareNode) mapped(t *testing.T, share string) bool {
	t.Helper()
	mappings, err := n.emulated().SMBGlobalMappings()
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
	n.WriteFile(targetOf("a")+`\data`, "precious")
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

// TestSharesUsers: a record without its link is not a user, and a link without a record is one where kubelet's directory
// is seen.
func TestSharesUsers(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	shares := n.seeing().Shares(n.records)
	check(t, "staging", shares.Stage(ctx, share, targetOf("a"), credentials))
	check(t, "staging another", shares.Stage(ctx, share, targetOf("b"), credentials))
	m := mounter.New(n.Client())
	check(t, "staging without a record", m.MountShare(ctx, share+`\dir`, targetOf("c"), credentials))
	check(t, "publishing", m.Mount(targetOf("c"), publish, "", nil))
	check(t, "removing a link", m.Remove(ctx, targetOf("b")))
	check(t, "unstaging", shares.Unstage(ctx, targetOf("a")))
	if !n.mapped(t, share) {
		t.Fatal("the mapping was removed under a link of another driver")
	}
	check(t, "cleaning", n.shares().Clean(ctx)) // this one does not see the link
	if n.mapped(t, share) {
		t.Error("the mapping stayed for a record without a link")
	}
}

// TestMountRefs: the other paths of a volume are found, and no others.
func TestMountRefs(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx, m := t.Context(), n.seeing()
	pod := func(uid string) string {
		return `C:\var\lib\kubelet\pods\` + uid + `\volumes\kubernetes.io~csi\pv\mount`
	}
	check(t, "staging a disk", m.MountDisk(ctx, 1, targetOf("disk")))
	check(t, "staging another", m.MountDisk(ctx, 2, targetOf("other")))
	check(t, "staging a share", m.MountShare(ctx, `\\fs.emulated\share`, targetOf("share"), credentials))
	check(t, "staging another", m.MountShare(ctx, `\\fs.emulated\share\dir`, targetOf("dir"), credentials))
	check(t, "publishing", m.Mount(targetOf("disk"), pod("1"), "", nil))
	check(t, "publishing", m.Mount(targetOf("disk"), pod("2"), "", nil))
	check(t, "publishing", m.Mount(targetOf("share"), pod("3"), "", nil))
	for path, want := range map[string][]string{
		targetOf("disk"):  {targetOf("disk"), pod("1"), pod("2")},
		pod("2"):          {pod("2"), "C:" + targetOf("disk"), pod("1")},
		targetOf("share"): {targetOf("share"), pod("3")},
		pod("3"):          {pod("3"), "C:" + targetOf("share")},
		targetOf("other"): {targetOf("other")},
		targetOf("none"):  {},
	} {
		if got, err := m.GetMountRefs(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("GetMountRefs(%s) = %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestSharesHeal: what breaks a share under a volume is healed when the volume is published.
func TestSharesHeal(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	check(t, "staging", n.shares().Stage(ctx, `\\fs.emulated\share`, targetOf("a"), credentials))
	password := credentials
	for _, c := range []struct {
		what   string
		breaks func()
	}{
		{"nothing", func() {}},
		{"a reboot that drops the mappings", func() { n.SetSwitch("mappingsOutliveReboot", "false"); n.Reboot() }},
		{"a reboot that leaves them without credentials", func() { n.SetSwitch("mappingsOutliveReboot", "true"); n.Reboot() }},
		{"a new password", func() { password.Password = "rotated"; n.SetSMBPassword("csi", "rotated") }},
		{"somebody else", func() { check(t, "unmapping", mounter.New(n.Client()).UnmapShare(ctx, `\\fs.emulated\share`)) }},
	} {
		c.breaks()
		shares := n.shares()
		if err := shares.Ensure(ctx, targetOf("a"), mounter.Credentials{}); err != nil && !errors.Is(err, csiproxy.ErrCredentials) {
			t.Errorf("%s: Ensure without credentials: %v, want ErrCredentials or success", c.what, err)
		}
		check(t, c.what, shares.Ensure(ctx, targetOf("a"), password))
		if status, err := shares.Status(ctx, targetOf("a")); err != nil || status.Condition.Abnormal {
			t.Errorf("%s: %+v, %v", c.what, status, err)
		}
	}
	n.StopSMBServer("fs.emulated")
	if err := n.shares().Ensure(ctx, targetOf("a"), password); !errors.Is(err, csiproxy.ErrServerUnreachable) {
		t.Errorf("a server that is down: %v, want ErrServerUnreachable", err)
	}
	check(t, "unstaging without the server", n.shares().Unstage(ctx, targetOf("a")))
	if n.mapped(t, `\\fs.emulated\share`) {
		t.Error("the mapping stayed")
	}
}

// TestSharesErrors: the kinds of failures are told apart.
func TestSharesErrors(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	n.AddSMBUser("second", "second-password")
	check(t, "staging", n.shares().Stage(t.Context(), `\\fs.emulated\share`, targetOf("a"), credentials))
	for name, c := range map[string]struct {
		remote string
		with   mounter.Credentials
		want   error
	}{
		"password": {`\\new.emulated\share`, mounter.Credentials{User: "csi", Password: "hunter2"}, csiproxy.ErrCredentials},
		"share":    {`\\fs.emulated\missing`, credentials, csiproxy.ErrShareNotFound},
		"server":   {`\\nobody.emulated\share`, credentials, csiproxy.ErrServerUnreachable},
		"user":     {`\\fs.emulated\other`, mounter.Credentials{User: "second", Password: "second-password"}, csiproxy.ErrOtherCredentials},
	} {
		n.AddSMBShare("new.emulated", "share")
		err := n.shares().Stage(t.Context(), c.remote, targetOf(name), c.with)
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), c.with.Password) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		check(t, "unstaging after the failure", n.shares().Unstage(t.Context(), targetOf(name)))
	}
	check(t, "unstaging", n.shares().Unstage(t.Context(), targetOf("a")))
}

// TestSharesInterrupted: after a failure before or after any call of the API, staging or unstaging again comes to the same
// end, and no mapping stays that no volume uses.
func TestSharesInterrupted(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	for call := range 12 {
		if !testnode.Sampled(call, 1, 3) {
			continue
		}
		fail := n.FailRPC
		if call%2 == 1 {
			fail = n.FailRPCAfter
		}
		disturbed := func(do func() error) {
			end := fail(csiproxytest.Calls{Method: "*", Skip: call / 2, Times: 1}, codes.Internal, "the node failed")
			_ = do()
			end()
		}
		disturbed(func() error { return n.shares().Stage(ctx, share, targetOf("a"), credentials) })
		check(t, "cleaning", n.shares().Clean(ctx))
		if n.mapped(t, share) {
			if status, err := n.shares().Status(ctx, targetOf("a")); err != nil || len(status.Users) == 0 {
				t.Errorf("call %d of staging failed, and the share is mapped for nobody: %+v, %v", call, status, err)
			}
		}
		check(t, "staging again", n.shares().Stage(ctx, share, targetOf("a"), credentials))
		check(t, "staging another", n.shares().Stage(ctx, share, targetOf("b"), credentials))
		disturbed(func() error { return n.shares().Unstage(ctx, targetOf("a")) })
		check(t, "unstaging again", n.shares().Unstage(ctx, targetOf("a")))
		if !n.mapped(t, share) {
			t.Errorf("call %d of unstaging failed, and the mapping was removed under a volume", call)
		}
		disturbed(func() error { return n.shares().Unstage(ctx, targetOf("b")) })
		check(t, "unstaging the last again", n.shares().Unstage(ctx, targetOf("b")))
		if n.mapped(t, share) {
			t.Errorf("call %d of unstaging the last failed, and the mapping stayed", call)
		}
	}
}

// A volume of TestSharesAtRandom. Staged is nil after a failure.
type shareVolume struct {
	name, share string
	staged      *bool
}

// TestSharesAtRandom: two drivers with volumes in few shares, while servers stop, passwords change, calls fail, drivers
// start again and the node reboots in both ways. No mapping is removed under a volume, none stays at the end, and no volume
// stays broken once its server is back.
func TestSharesAtRandom(t *testing.T) {
	t.Parallel()
	steps, volumes := 30, 8
	if testnode.Long() {
		steps, volumes = 3000, 200
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &shareWorld{t: t, n: startShares(t), r: rand.New(rand.NewPCG(seed, 0)), password: credentials.Password, needed: map[string]bool{}}
	for i := range volumes {
		share := fmt.Sprintf(`\\server%d\share%d`, i%2, i%max(2, volumes/10))
		w.volumes = append(w.volumes, &shareVolume{name: fmt.Sprint("v", i), share: share, staged: new(bool)})
		server, name, _ := strings.Cut(strings.TrimPrefix(share, `\\`), `\`)
		w.n.AddSMBShare(server, name)
	}
	for range steps {
		w.step()
		w.checkMappings()
	}
	w.restore()
	for _, v := range w.volumes {
		if v.staged == nil || *v.staged {
			check(t, "staging once more", w.n.shares().Stage(t.Context(), v.share, targetOf(v.name), w.credentials()))
			if status, err := w.n.shares().Status(t.Context(), targetOf(v.name)); err != nil || status.Condition.Abnormal {
				t.Errorf("%s stays broken: %+v, %v", v.name, status, err)
			}
		}
		check(t, "unstaging", w.n.shares().Unstage(t.Context(), targetOf(v.name)))
	}
	mappings, err := w.n.emulated().SMBGlobalMappings()
	if err != nil || len(mappings) > 0 {
		t.Errorf("mappings stayed: %v, %v", mappings, err)
	}
}

type shareWorld struct {
	t        *testing.T
	n        shareNode
	r        *rand.Rand
	volumes  []*shareVolume
	password string
	down     []string
	needed   map[string]bool // shares that were mapped for a volume and must still be
}

func (w *shareWorld) credentials() mounter.Credentials {
	return mounter.Credentials{User: "csi", Password: w.password}
}

func (w *shareWorld) step() {
	v := w.volumes[w.r.IntN(len(w.volumes))]
	switch k := w.r.IntN(20); k {
	case 0:
		w.n.SetSwitch("mappingsOutliveReboot", []string{"false", "true"}[w.r.IntN(2)])
		w.n.Reboot()
		clear(w.needed)
	case 1:
		w.password = fmt.Sprint("password-", w.r.Int())
		w.n.SetSMBPassword("csi", w.password)
		clear(w.needed) // what is mapped anew may be unmapped first
	case 2:
		server, _, _ := strings.Cut(strings.TrimPrefix(v.share, `\\`), `\`)
		if !slices.Contains(w.down, server) {
			w.n.StopSMBServer(server)
			w.down = append(w.down, server)
		}
	case 3, 4:
		w.restore()
	case 5:
		check(w.t, "cleaning", w.n.shares().Clean(w.t.Context()))
	default:
		w.change(v, k%2 == 0, k < 12)
	}
}

// change stages or unstages a volume; disturbed, a call of that fails before or after its effect.
func (w *shareWorld) change(v *shareVolume, stage, disturbed bool) {
	end := func() {}
	if disturbed {
		fail := []func(csiproxytest.Calls, codes.Code, string) func(){w.n.FailRPC, w.n.FailRPCAfter}[w.r.IntN(2)]
		end = fail(csiproxytest.Calls{Method: "*", Skip: w.r.IntN(4), Times: 1}, codes.Internal, "the node failed")
	}
	defer func() { end() }()
	var err error
	if stage {
		err = w.n.shares().Stage(w.t.Context(), v.share, targetOf(v.name), w.credentials())
	} else {
		err = w.n.shares().Unstage(w.t.Context(), targetOf(v.name))
	}
	switch {
	case err == nil:
		v.staged = &stage
		w.needed[v.share] = w.needed[v.share] || stage
	case !disturbed && len(w.down) == 0:
		w.t.Errorf("staging (%v) %s failed undisturbed: %v", stage, v.name, err)
	default:
		v.staged = nil
	}
}

func (w *shareWorld) restore() {
	for _, server := range w.down {
		w.n.StartSMBServer(server)
	}
	w.down = nil
}

func (w *shareWorld) checkMappings() {
	w.t.Helper()
	for _, v := range w.volumes {
		if v.staged != nil && *v.staged && w.needed[v.share] && !w.n.mapped(w.t, v.share) {
			w.t.Fatalf("%s is not mapped, and %s uses it", v.share, v.name)
		}
	}
}

// TestSharesConcurrently: several drivers stage and unstage volumes in one share at the same time. While a volume is staged,
// its share is mapped.
func TestSharesConcurrently(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	var all sync.WaitGroup
	for i := range 4 {
		shares, target := n.shares(), targetOf(fmt.Sprint("v", i))
		all.Go(func() {
			for range 5 {
				if err := shares.Stage(t.Context(), `\\fs.emulated\share`, target, credentials); err != nil {
					t.Errorf("staging: %v", err)
				}
				if status, err := shares.Status(t.Context(), target); err != nil || status.Condition.Abnormal {
					t.Errorf("while it is staged: %+v, %v", status, err)
				}
				if err := shares.Unstage(t.Context(), target); err != nil {
					t.Errorf("unstaging: %v", err)
				}
			}
		})
	}
	all.Wait()
	if n.mapped(t, `\\fs.emulated\share`) {
		t.Error("the mapping stayed")
	}
}
