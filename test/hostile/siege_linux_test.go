// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// siegeTime is the variable with how long the siege lasts, such as 10m; from a minute on, the driver's quick reads must
// not take more than 20 times as long as before. With CSI_PROXY_LONG alone, a few attackers who cost the machine little
// come for 10 s.
const siegeTime = "CSI_PROXY_SIEGE"

func siegeDuration(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv(siegeTime); text != "" {
		d, err := time.ParseDuration(text)
		noError(t, err)
		return d
	}
	return 10 * time.Second
}

// An honest driver works beside all attacks at once, which come from one pod: every call of it is answered, none of its connections is closed, and
// the agent stays below the chart's memory limit. CSI_PROXY_SIEGE=10m go test ./test/hostile -run Siege -v -timeout 20m is the
// long one, of which docs/security.md has the figures.
func TestHonestDriverUnderSiege(t *testing.T) {
	if !testnode.Long() && os.Getenv(siegeTime) == "" {
		t.Skip("make test-long runs it")
	}
	a := startCaged(t)
	a.neverAnswer()
	d := a.startHonest()
	total := siegeDuration(t)
	quiet := d.reportAfter(max(2*time.Second, total/20))
	names := besiegers()
	end := unleash(t, battlefield{sockets: a.sockets(), metrics: a.metrics, files: a.hostPath(pods)}, leastPod(t), names...)
	d.report() // of the time in which they came
	r := d.reportAfter(total)
	a.lives("under siege")
	t.Logf("%d attackers for %v: %d quick reads, median %v, p99 %v, longest %v (on the quiet machine %v, %v, %v); %d sequences, the longest took %v (%v); %d connections",
		len(names), total, r.Reads, r.Median, r.P99, r.Most, quiet.Median, quiet.P99, quiet.Most, r.Sequences, r.LongestSequence, quiet.LongestSequence, r.Connections)
	if r.Failed > 0 {
		t.Errorf("%d calls or sequences of the driver failed:\n%s", r.Failed, strings.Join(r.Failures, "\n"))
	}
	if r.Connections != quiet.Connections {
		t.Errorf("the driver had to open %d connections, and %d on the quiet machine", r.Connections, quiet.Connections)
	}
	if total >= time.Minute && r.P99 > 20*quiet.P99 {
		t.Errorf("p99 of the quick reads: %v, and %v on the quiet machine", r.P99, quiet.P99)
	}
	end()
	a.unharmed()
	if last := d.report(); last.Failed > 0 {
		t.Errorf("while the attackers ended, calls of the driver failed:\n%s", strings.Join(last.Failures, "\n"))
	}
}

// besiegers returns the raids of a siege.
func besiegers() []string {
	if os.Getenv(siegeTime) == "" {
		return []string{"dying children", "failing calls", "made you reset", "services", "swapped parts", "4352 calls without a body"}
	}
	return slices.Sorted(maps.Keys(raids()))
}

// unharmed fails the test if an attacker got what it wanted.
func (a *caged) unharmed() {
	a.t.Helper()
	entries, err := os.ReadDir(filepath.Join(a.stateDir, swapTarget))
	if err != nil || len(entries) != 1 {
		a.t.Errorf("the directory outside holds %v, %v, want one other", entries, err)
	}
	services, err := a.admin().ListServices(a.t.Context(), &admin.ListServicesRequest{})
	noError(a.t, err)
	for _, s := range services.GetServices() {
		if s.GetName() == "LanmanWorkstation" && s.GetState() != admin.ServiceState_SERVICE_STATE_RUNNING {
			a.t.Errorf("LanmanWorkstation is in state %v", s.GetState())
		}
	}
}

// admin connects to the agent's admin endpoint.
func (a *caged) admin() *adminclient.Client {
	a.t.Helper()
	c, err := adminclient.Dial(a.t.Context(), a.sockets())
	noError(a.t, err)
	a.t.Cleanup(func() { _ = c.Close() })
	return c
}

// neverAnswer has Windows never answer for some paths.
func (a *caged) neverAnswer() {
	a.t.Helper()
	_, err := a.admin().AddFault(a.t.Context(), &admin.AddFaultRequest{Fault: &admin.Fault{
		Function: "OpenFile", Object: neverAnswers, Effect: &admin.Fault_Hang{Hang: &admin.Hang{}},
	}})
	noError(a.t, err)
}

// hostPath returns where a directory of the node is on this machine.
func (a *caged) hostPath(windowsPath string) string {
	a.t.Helper()
	r, err := a.admin().GetPath(a.t.Context(), &admin.GetPathRequest{WindowsPath: windowsPath})
	noError(a.t, err)
	return r.GetHostPath()
}

// besieged is the honest driver's process.
type besieged struct {
	t      *testing.T
	input  io.Writer
	output *bufio.Reader
}

func (a *caged) startHonest() *besieged {
	a.t.Helper()
	program, err := os.Executable()
	noError(a.t, err)
	c := command(program, honestSockets+"="+a.sockets())
	input, err := c.StdinPipe()
	noError(a.t, err)
	output, err := c.StdoutPipe()
	noError(a.t, err)
	noError(a.t, c.Start())
	a.t.Cleanup(func() { _ = input.Close(); _ = c.Wait() })
	return &besieged{a.t, input, bufio.NewReader(output)}
}

// reportAfter returns what the driver saw in some time, or in more on a machine that is so busy that it has not come far.
func (d *besieged) reportAfter(least time.Duration) honestReport {
	d.t.Helper()
	var sum honestReport
	begin := time.Now()
	eventually(d.t, "the driver reads 20 times and stages once", func() bool {
		sleep(d.t.Context(), max(least-time.Since(begin), 100*time.Millisecond))
		sum.add(d.report())
		return sum.Failed > 0 || sum.Reads >= 20 && sum.Sequences > 0
	})
	sum.settle()
	return sum
}

// add adds a later report.
func (r *honestReport) add(later honestReport) {
	r.Times = append(r.Times, later.Times...)
	r.Reads = len(r.Times)
	r.Sequences += later.Sequences
	r.LongestSequence = max(r.LongestSequence, later.LongestSequence)
	r.Failures = append(r.Failures, later.Failures...)
	r.Failed += later.Failed
	r.Connections = later.Connections
}

// settle works out how long the reads took.
func (r *honestReport) settle() {
	slices.Sort(r.Times)
	if n := len(r.Times); n > 0 {
		r.Median, r.P99, r.Most = r.Times[n/2], r.Times[n*99/100], r.Times[n-1]
	}
}

// report asks the driver how it fared since the last time.
func (d *besieged) report() (r honestReport) {
	d.t.Helper()
	_, err := fmt.Fprintln(d.input)
	noError(d.t, err)
	line, err := d.output.ReadBytes('\n')
	noError(d.t, err)
	noError(d.t, json.Unmarshal(line, &r))
	return r
}
