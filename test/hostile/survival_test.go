// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A process that floods the agent fills its own slots and connections and no others: a driver beside it is served, call
// after call.
func TestFloods(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the agent cannot tell processes apart here")
	}
	for _, name := range []string{"hanging reads", "children that die with them", "connections that say nothing"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := attack(t, testnode.Options{Limits: limits.Limits{Operations: 16, ClientOperations: 8,
				ClientConnections: 100, Wait: 100 * time.Millisecond}})
			_, release := g.Hang(csiproxytest.Calls{Function: "QueryAttributes", Object: neverAnswers})
			defer release()
			a := agentAddress{socket: g.Socket("filesystem", "v2alpha1")}
			end := a.attackWith(t, name)
			for range inLongRun(200, 20) {
				g.alive()
				time.Sleep(10 * time.Millisecond) // the attack takes a moment to unfold
			}
			end()
			release()
			g.alive()
		})
	}
}

// In the memory that the chart allows, the agent survives what other processes do to it, serves every call of a good
// client meanwhile, half of them within two seconds, and goes on serving it afterwards.
func TestSurvivesAttacks(t *testing.T) {
	if !testnode.Long() || runtime.GOOS != "linux" {
		t.Skip("make test-long runs it on Linux")
	}
	for _, c := range []struct {
		attack    string
		processes int
	}{
		{"hanging reads", 1},
		{"hanging reads", 8},
		{"children that die with them", 1},
		{"100 x 256 unread answers", 1},
		{"half requests", 3},
		{"half requests for metrics", 1},
		{"connections that say nothing", 8},
		{"calls that are reset", 1},
		{"calls without pause, 256 at once", 2},
		{"failing calls on many connections", 2},
	} {
		t.Run(fmt.Sprintf("%s, %d", c.attack, c.processes), func(t *testing.T) {
			a := startVictim(t)
			a.calls(1) // the client is connected before
			var ends []func()
			for range c.processes {
				ends = append(ends, a.attackWith(t, c.attack))
			}
			during := a.calls(50)
			a.healthy()
			a.requireAlive("under attack")
			if median := during[len(during)/2]; median > 2*time.Second {
				t.Errorf("half of the client's calls took more than %v", median)
			}
			for _, end := range ends {
				end()
			}
			after := a.calls(10)
			a.requireAlive("afterwards")
			t.Logf("median %v and longest %v under attack, %v and %v afterwards",
				during[len(during)/2], during[len(during)-1], after[len(after)/2], after[len(after)-1])
		})
	}
}

// victim is an agent with a process of its own, and this one as its good client.
type victim struct {
	*testnode.Process
	agentAddress
	t      *testing.T
	client filesystem.FilesystemClient
}

// startVictim starts the agent that users have, on an emulated node whose Windows never answers for some paths.
func startVictim(t *testing.T) *victim {
	t.Helper()
	state := testnode.ShortDir(t)
	sockets := filepath.Join(state, "run")
	p := testnode.LaunchEmulated(t, "-state-dir="+state, "-metrics-bind-address=127.0.0.1:0")
	_, rest, _ := strings.Cut(p.Logged(), `serving metrics and health" address="`)
	metrics, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("the agent does not log the address of its metrics:\n%s", p.Logged())
	}
	c, err := adminclient.Dial(t.Context(), sockets)
	caller.OK(t, err)
	defer c.Close() //nolint:errcheck // over
	caller.OK(t, only(c.AddFault(t.Context(), &nodeapi.AddFaultRequest{Fault: &nodeapi.Fault{
		Function: "QueryAttributes", Object: neverAnswers, Hang: true,
	}})))
	a := agentAddress{filepath.Join(sockets, "csi-proxy-filesystem-v2alpha1.sock"), metrics}
	conn, err := newConn(a.socket)
	caller.OK(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &victim{p, a, t, filesystem.NewFilesystemClient(conn)}
}

// calls makes calls, and returns how long they took, sorted. A call that failed fails the test.
func (a *victim) calls(n int) (took []time.Duration) {
	a.t.Helper()
	for range n {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(a.t.Context(), 30*time.Second)
		_, err := a.client.PathExists(ctx, &filesystem.PathExistsRequest{Path: kubelet + `\plugins`})
		cancel()
		took = append(took, time.Since(begin))
		if err != nil {
			a.t.Errorf("a call of the good client: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	slices.Sort(took)
	return took
}

// healthy fails the test if kubelet's probe would fail.
func (a *victim) healthy() {
	a.t.Helper()
	client := http.Client{Timeout: 30 * time.Second}
	r, err := client.Get("http://" + a.metrics + "/healthz")
	caller.OK(a.t, err)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		a.t.Errorf("the agent's health: %s", r.Status)
	}
}

// requireAlive fails the test if the agent ended, or held more memory than the chart allows.
func (a *victim) requireAlive(during string) {
	a.t.Helper()
	const chartLimit = 256 << 10 // KiB
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Command.Process.Pid))
	if err != nil {
		a.t.Fatalf("%s: the agent is gone: %v", during, err)
	}
	_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
	highest, err := strconv.Atoi(strings.Fields(rest + " ?")[0])
	if err != nil || highest >= chartLimit {
		a.t.Errorf("%s: the agent held %d KiB (%v), and the chart allows %d", during, highest, err, chartLimit)
	}
	a.t.Logf("%s: resident at most %d MiB", during, highest>>10)
}
