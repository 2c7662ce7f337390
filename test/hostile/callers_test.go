// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// accompliceCalls is how many calls an accomplice has open at a time.
const accompliceCalls = 1000

// accomplice asks for the size of disk 1 over and over, with many calls at a time on several connections, until its
// standard input ends. It prints a line when the first calls are under way.
func accomplice(socket string) int {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var callers sync.WaitGroup
	for range accompliceCalls / 100 {
		conn, err := grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
				error) {
				return testnode.DialRaw(ctx, socket)
			}))
		if err != nil {
			return 1
		}
		client := disk.NewDiskClient(conn)
		for range 100 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, _ = client.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 1})
				}
			})
		}
	}
	fmt.Println("attacking")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	stop()
	callers.Wait()
	return 0
}

// attackFrom starts an accomplice, which ends with the test.
func (g *target) attackFrom(socket string) {
	g.t.Helper()
	c := g.another(accompliceSocket, socket)
	input, err := c.StdinPipe()
	noError(g.t, err)
	output, err := c.StdoutPipe()
	noError(g.t, err)
	noError(g.t, c.Start())
	g.t.Cleanup(func() {
		_ = input.Close()
		if err := c.Wait(); err != nil {
			g.t.Errorf("the accomplice: %v", err)
		}
	})
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "attacking\n" {
		g.t.Fatalf("the accomplice printed %q, %v", line, err)
	}
}

// another starts this program again, as the kind of process that a variable makes of it.
func (g *target) another(variable, value string) *exec.Cmd {
	g.t.Helper()
	program, err := os.Executable()
	noError(g.t, err)
	c := exec.Command(program)
	c.Env = append(os.Environ(), variable+"="+value)
	c.Stderr = os.Stderr
	return c
}

// A process that floods the agent with calls, all of which hang in Windows, fills its own slots and no others: a
// driver beside it is served, call after call.
func TestFloodOfHungCalls(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the agent cannot tell processes apart here")
	}
	g := attack(t, testnode.Options{Limits: limits.Limits{Operations: 16, ClientOperations: 8,
		Wait: 100 * time.Millisecond}})
	reached, release := g.Faults.HangAll("OpenDevice")
	defer release()
	g.attackFrom(g.Socket("disk", "v1"))
	await(t, reached, "the kernel call")
	calls := 5
	if testnode.Long() {
		calls = 200
	}
	for i := range calls {
		if _, err := g.Filesystem.PathExists(t.Context(), &filesystem.PathExistsRequest{Path: pods}); err != nil {
			t.Fatalf("call %d of %d beside the flood: %v", i, calls, err)
		}
	}
	t.Logf("%d calls were served beside %d calls at a time of the flood", calls, accompliceCalls)
}

// Calls that hang in Windows keep their slots when their callers give up, so their number is bounded, whatever the
// callers do: give up at once, come again, or come over another connection. Refusals come soon, with the reason; when
// Windows answers, everything is as before.
func TestHungReadsAreBounded(t *testing.T) {
	g := attack(t, testnode.Options{Limits: limits.Limits{ClientOperations: 8, Wait: 10 * time.Millisecond}})
	_, release := g.Faults.HangAll("OpenDevice")
	defer release()
	before := runtime.NumGoroutine()
	seen := map[codes.Code]int{}
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		_, err := g.Disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 1})
		cancel()
		seen[codeOf(err)]++
		if codeOf(err) == codes.ResourceExhausted && reason(err) != "TOO_MANY_CALLS" {
			t.Fatalf("refused with %v", err)
		}
	}
	if grown := runtime.NumGoroutine() - before; grown > 30 {
		t.Errorf("%d goroutines more than before", grown)
	}
	if seen[codes.DeadlineExceeded] < 8 || seen[codes.ResourceExhausted] < 50 {
		t.Errorf("got %v, want 8 calls that hang and the others refused", seen)
	}
	t.Logf("100 calls: %v", seen)
	release()
	eventually(t, "a call is served again", func() bool {
		_, err := g.Disk.GetDiskStats(t.Context(), &disk.GetDiskStatsRequest{DiskNumber: 1})
		return err == nil
	})
	g.alive()
}

// One process opens thousands of connections, more than the agent keeps for one process, and leaves them open: the
// driver's connections are not among those that the agent drops.
func TestThousandsOfConnections(t *testing.T) {
	const most, opened = 100, 3000
	g := attack(t, testnode.Options{Limits: limits.Limits{ClientConnections: most}})
	socket := g.Socket("filesystem", "v2alpha1")
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range opened {
		conn, err := testnode.DialRaw(t.Context(), socket)
		noError(t, err)
		conns = append(conns, conn)
	}
	g.alive() // over the connection that was there before
	open := 0
	eventually(t, "most of them are closed", func() bool {
		open = 0
		for _, c := range conns {
			noError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
			if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
				open++
			}
		}
		return open <= most
	})
	t.Logf("%d of %d connections stay open", open, opened)
}

// reason returns the ErrorInfo's reason.
func reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(interface{ GetReason() string }); ok {
			return info.GetReason()
		}
	}
	return ""
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("this never happened: %s", what)
		}
	}
}
