// SPDX-License-Identifier: Apache-2.0

//go:build unix

package reliability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// killed is a node whose agents have a process of their own.
type killed struct{ dir string }

func (k killed) sockets() string { return filepath.Join(k.dir, "run") }

func (k killed) client(t *testing.T) *loadClients {
	t.Helper()
	return dial(t, func(endpoint string) string { return filepath.Join(k.sockets(), endpoint+".sock") })
}

func (k killed) onFile(path string, work func(hostPath string) error) error {
	c, err := adminclient.Dial(context.Background(), k.sockets())
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // over
	r, err := c.Get(context.Background(), &nodeapi.GetRequest{Part: "hostPath", WindowsPath: path})
	if err != nil {
		return err
	}
	at, err := nodeapi.Part[string](r.GetDocument(), "hostPath")
	if err != nil {
		return err
	}
	return work(at)
}

// launch starts an agent. One that does not come up after a kill is what is looked for.
func (k killed) launch(t *testing.T) *testnode.Process {
	t.Helper()
	return testnode.LaunchEmulated(t, "-state-dir="+k.dir, "-socket-dir="+k.sockets())
}

// crashes returns how many times the agent is killed.
func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CSI_PROXY_CRASHES")
	if text == "" {
		if testnode.Long() {
			return 100
		}
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CSI_PROXY_CRASHES is %q, not a number of kills", text)
	}
	return n
}

// The agent is killed, or every other time stopped, while drivers work. The next one finds everything that the drivers
// know of: their calls succeed when they are repeated, no data is lost, and no mapping that others still use. In the end
// nothing of the shares is left.
func TestKilledAgentLosesNothing(t *testing.T) {
	k := killed{testnode.ShortDir(t)}
	p := k.launch(t)
	node := testnode.Control(t, k.sockets())
	var team []*loadDriver
	for i := range 8 {
		serial := fmt.Sprint("disk-", i)
		node.AttachDisk(csiproxytest.Disk{SizeBytes: loadDiskBytes, SerialNumber: serial, Offline: i == 1})
		team = append(team, &loadDriver{node: k, claims: []*claim{{serial: serial}}})
	}
	for i := range 4 {
		d := &loadDriver{node: k}
		for j, share := range []string{caller.Share, caller.OtherShare} {
			d.claims = append(d.claims, &claim{serial: fmt.Sprintf("share-%d-%d", i, j), share: share})
		}
		team = append(team, d)
	}
	for i := range crashes(t) {
		var back atomic.Bool // the drivers end the lives in which they are
		done := make(chan struct{})
		go func() { defer close(done); live(t, team, func() bool { return !back.Load() && !t.Failed() }) }()
		moment := time.NewTimer(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
		<-moment.C
		if i%2 == 1 {
			_ = p.Command.Process.Signal(syscall.SIGTERM)
			<-p.Ended
			if code := p.Command.ProcessState.ExitCode(); code != 0 { // not 0 if it cut calls off
				t.Errorf("the agent that was stopped ends with %d:\n%s", code, p.Logged())
			}
		} else {
			p.Kill()
		}
		p = k.launch(t)
		back.Store(true)
		<-done
	}
	for i, d := range team {
		t.Logf("driver %d: %d lives, %d retries", i, d.lifecycles, d.retries)
	}
	k.wantNoShares(t)
}

// wantNoShares fails the test if a share is recorded as used, or is mapped: unless an agent was killed while it mapped
// it, which does not know whose the mapping is then and keeps it.
func (k killed) wantNoShares(t *testing.T) {
	t.Helper()
	log := records.New(filepath.Join(k.dir, emulated.RecordsDir))
	used, err := log.All(records.Use)
	if err != nil || len(used) > 0 {
		t.Errorf("uses are recorded: %v, %v", used, err)
	}
	known, err := log.All(records.Mapping)
	caller.OK(t, err)
	facts, err := testnode.Control(t, k.sockets()).Admin.GetFacts(t.Context(), &api.GetFactsRequest{Parts: []api.Part{api.Part_PART_MAPPINGS}})
	caller.OK(t, err)
	for _, m := range facts.GetMappings() {
		if !slices.Contains(known, records.Record{Share: m.GetRemotePath(), Made: records.Begun}) {
			t.Errorf("%s is mapped, and known is %v", m.GetRemotePath(), known)
		}
	}
}
