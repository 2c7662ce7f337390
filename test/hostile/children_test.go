// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// childCalls is how many calls a child has under way when it ends: as many as a connection allows, and a process may
// have.
const childCalls = 64

// child asks for as many paths at once, and ends when its standard input does, with its calls under way.
func child(socket string) int {
	conn, err := newConn(socket)
	if err != nil {
		return 1
	}
	client := filesystem.NewFilesystemClient(conn)
	for i := range childCalls {
		go func() {
			path := fmt.Sprintf(`%s\%d-%d`, pods, os.Getpid(), i) // each another object, which no other call has found to hang
			_, _ = client.PathExists(context.Background(), &filesystem.PathExistsRequest{Path: path})
		}()
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return 0
}

// raise has a child make its calls, one after the other being let in or refused, until endIt is called.
func (g *target) raise(variable, socket string) (endIt func()) {
	g.t.Helper()
	c := g.another(variable, socket)
	input, err := c.StdinPipe()
	noError(g.t, err)
	noError(g.t, c.Start())
	return func() {
		_ = input.Close()
		noError(g.t, c.Wait())
	}
}

// slotsInUse is the metric of the operations that run.
const slotsInUse = "csi_proxy_operation_slots_in_use"

// metric returns the sum of a metric of the agent's calls over all its labels.
func (g *target) metric(name string) (sum int) {
	g.t.Helper()
	families, err := g.Agent.Metrics().Gatherer().Gather()
	noError(g.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += int(m.GetGauge().GetValue() + m.GetCounter().GetValue())
			}
		}
	}
	return sum
}

// children is how many there are: go test ./test/hostile -run ThatLeaveCalls -children 90.
var children = flag.Int("children", inLongRun(20, 3), "processes that leave hanging calls behind, one after the other")

// Children of one process make 64 calls each that hang in Windows, and end one after the other. Their operations go on
// and keep their slots. A driver that was there before is served after each of them, and so is one that comes then.
func TestCallsOutliveTheirProcess(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the agent cannot tell processes apart here")
	}
	g := attack(t, testnode.Options{Metrics: true, Limits: limits.Limits{Wait: 20 * time.Millisecond}})
	_, release := g.Hang(csiproxytest.Calls{Function: "OpenFile", Object: `\pods\`})
	defer release()
	before := g.metric("grpc_server_started_total")
	for i := range *children {
		end := g.raise(childSocket, g.Socket("filesystem", "v2alpha1"))
		eventually(t, "all calls of a child hang or are refused", func() bool {
			begun := g.metric("grpc_server_started_total") - before
			return begun >= childCalls && g.metric("csi_proxy_calls_queued") == 0
		})
		end()
		eventually(t, "the child's calls have no caller any more",
			func() bool { return g.metric("grpc_server_started_total") == g.metric("grpc_server_handled_total") })
		_, err := g.Disk.GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{DiskNumber: 2})
		if err == nil {
			_, err = g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: kubelet + `\plugins`})
		}
		if err != nil {
			t.Fatalf("after %d children, with %d slots in use, the driver gets %v", i+1, g.metric(slotsInUse), err)
		}
		before = g.metric("grpc_server_started_total")
	}
	taken, limit := g.metric(slotsInUse), 512+4**children // 4 are reserved for each
	if taken < childCalls || taken > limit {
		t.Errorf("%d slots are in use, want %d to %d", taken, childCalls, limit)
	}
	t.Logf("%d children left %d slots in use", *children, taken)
	output, err := g.another(driverSocket, g.Socket("disk", "v1")).Output()
	if string(output) != "OK\n" || err != nil {
		t.Errorf("a driver that comes then gets %q, %v", output, err)
	}
	release()
	eventually(t, "nothing is left when Windows answers", func() bool { return g.metric(slotsInUse) == 0 })
	g.alive()
}

// driver asks for the size of a disk, as a process of its own, and prints the result.
func driver(socket string) int {
	conn, err := newConn(socket)
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = disk.NewDiskClient(conn).GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 2})
	fmt.Println(codeOf(err))
	return 0
}
