// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// In the memory that the chart allows, the agent survives what other processes do to it, serves every call of a good
// client meanwhile, half of them within two seconds, and goes on serving it afterwards.
func TestSurvivesAttacks(t *testing.T) {
	if !testnode.Long() {
		t.Skip("make test-long runs it")
	}
	for _, c := range []struct {
		attack    string
		processes int
	}{
		{"hanging reads", 1},
		{"hanging reads", 2},
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
			a := startCaged(t)
			a.neverAnswer()
			good := a.startClient()
			good.calls(t, 1) // it is connected before
			end := a.attackWith(slices.Repeat([]string{c.attack}, c.processes)...)
			during := good.calls(t, 50)
			a.healthy()
			a.requireAlive("under attack")
			if median := during[len(during)/2]; median > 2*time.Second {
				t.Errorf("half of the client's calls took more than %v", median)
			}
			end()
			after := good.calls(t, 10)
			a.requireAlive("afterwards")
			t.Logf("median %v and longest %v under attack, %v and %v afterwards",
				during[len(during)/2], during[len(during)-1], after[len(after)/2], after[len(after)-1])
		})
	}
}

// clientSockets makes a copy of this program a client of the agent whose sockets are in a directory. For each line that
// it gets, a number, it makes so many calls, 100 ms apart, and answers with a clientReport.
const clientSockets = "HOSTILE_CLIENT_SOCKETS"

func init() { copies[clientSockets] = goodClient } //nolint:gochecknoinits // only Linux has it

type clientReport struct {
	Took   []time.Duration
	Failed []string
}

func goodClient(sockets string) int {
	conn, err := newConn(agentAddress{sockets: sockets}.socket("filesystem", "v2alpha1"))
	if err != nil {
		return 1
	}
	client := filesystem.NewFilesystemClient(conn)
	for {
		var n int
		if _, err := fmt.Scanln(&n); err != nil {
			return 0
		}
		var r clientReport
		for range n {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			_, err := client.PathExists(ctx, &filesystem.PathExistsRequest{Path: kubelet + `\plugins`})
			cancel()
			r.Took = append(r.Took, time.Since(begin))
			if err != nil {
				r.Failed = append(r.Failed, err.Error())
			}
			time.Sleep(100 * time.Millisecond)
		}
		text, _ := json.Marshal(r)
		fmt.Println(string(text))
	}
}

// caller is the process of a good client.
type caller struct {
	input  io.Writer
	output *bufio.Reader
}

func (a *caged) startClient() *caller {
	a.t.Helper()
	c := a.copy(clientSockets + "=" + a.sockets())
	input, err := c.StdinPipe()
	noError(a.t, err)
	output, err := c.StdoutPipe()
	noError(a.t, err)
	noError(a.t, c.Start())
	a.t.Cleanup(func() { _ = input.Close(); _ = c.Wait() })
	return &caller{input, bufio.NewReader(output)}
}

// calls has the client make calls, and returns how long they took, sorted. A call that failed fails the test.
func (c *caller) calls(t *testing.T, n int) []time.Duration {
	t.Helper()
	_, err := fmt.Fprintln(c.input, n)
	noError(t, err)
	line, err := c.output.ReadBytes('\n')
	noError(t, err)
	var r clientReport
	noError(t, json.Unmarshal(line, &r))
	if len(r.Failed) > 0 {
		t.Errorf("%d of the client's %d calls failed, the first with %s", len(r.Failed), n, r.Failed[0])
	}
	slices.Sort(r.Took)
	return r.Took
}

// attackWith starts attackers, and returns when all have begun. They end with the test, or with the returned function.
func (a *caged) attackWith(names ...string) (end func()) {
	a.t.Helper()
	var ends []func()
	for _, name := range names {
		c := a.copy(attackVariable+"="+name, attackSockets+"="+a.sockets(), attackMetrics+"="+a.metrics)
		input, err := c.StdinPipe()
		noError(a.t, err)
		output, err := c.StdoutPipe()
		noError(a.t, err)
		noError(a.t, c.Start())
		stop := func() { _ = input.Close(); _ = c.Process.Kill(); _ = c.Wait() }
		a.t.Cleanup(stop)
		ends = append(ends, stop)
		if line, err := bufio.NewReader(output).ReadString('\n'); line != "attacking\n" {
			a.t.Fatalf("the attacker %q printed %q, %v", name, line, err)
		}
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// copy returns this program again, with more in its environment, in a cgroup that is not the agent's.
func (a *caged) copy(variables ...string) *exec.Cmd {
	a.t.Helper()
	program, err := os.Executable()
	noError(a.t, err)
	c := exec.Command(program)
	c.Env = append(os.Environ(), variables...)
	c.Stderr = os.Stderr
	return c
}

// healthy fails the test if kubelet's probe would fail.
func (a *caged) healthy() {
	a.t.Helper()
	client := http.Client{Timeout: 30 * time.Second}
	r, err := client.Get("http://" + a.metrics + "/healthz")
	noError(a.t, err)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		a.t.Errorf("the agent's health: %s", r.Status)
	}
}

// neverAnswer has Windows never answer for some paths.
func (a *caged) neverAnswer() {
	a.t.Helper()
	c, err := adminclient.Dial(a.t.Context(), a.sockets())
	noError(a.t, err)
	defer c.Close() //nolint:errcheck // over
	_, err = c.AddFault(a.t.Context(), &nodeapi.AddFaultRequest{Fault: &nodeapi.Fault{
		Function: "OpenFile", Object: neverAnswers, Hang: true,
	}})
	noError(a.t, err)
}
