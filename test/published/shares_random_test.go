// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// A volume of TestSharesAtRandom. Staged is nil after a failure.
type shareVolume struct {
	name, share string
	staged      *bool
}

// TestSharesAtRandom: two drivers with volumes in few shares, while servers stop, passwords change, calls fail, drivers
// start again and the node reboots in both ways. No mapping is removed under a volume, none stays at the end, and no
// volume stays broken once its server is back.
func TestSharesAtRandom(t *testing.T) {
	t.Parallel()
	steps, volumes := 20, 6
	if testnode.Long() {
		steps, volumes = 3000, 200
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &shareWorld{t: t, n: startShares(t), r: rand.New(rand.NewPCG(seed, 0)), password: credentials.Password,
		needed: map[string]bool{}}
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
	mappings, err := w.n.emulated.SMBGlobalMappings()
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
func (w *shareWorld) change(v *shareVolume, stage, withFault bool) {
	end := func() {}
	if withFault {
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
	case !withFault && len(w.down) == 0:
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

// TestSharesConcurrently: several drivers stage and unstage volumes in one share at the same time. While a volume is
// staged, its share is mapped.
func TestSharesConcurrently(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	rounds := 2
	if testnode.Long() {
		rounds = 20
	}
	var all sync.WaitGroup
	for i := range 4 {
		shares, target := n.shares(), targetOf(fmt.Sprint("v", i))
		all.Go(func() {
			for range rounds {
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
