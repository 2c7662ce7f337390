// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// An attacker is a copy of this program, because the agent tells clients apart by their process. It prints a line when
// it has begun, and goes on until its standard input ends.
const (
	attackVariable = "HOSTILE_ATTACK"  // a name in attacks
	attackSocket   = "HOSTILE_SOCKET"  // of the filesystem group
	attackMetrics  = "HOSTILE_METRICS" // the address of the agent's metrics port
)

// agentAddress is where an attacked agent is.
type agentAddress struct{ socket, metrics string }

// attacks are what one process can do to an agent, by name. Each goes on until its context ends.
func attacks() map[string]func(ctx context.Context, a agentAddress) {
	body := append([]byte{0, 0, 0xf0, 0, 0}, make([]byte, 60<<10)...)
	return map[string]func(ctx context.Context, a agentAddress){
		"hanging reads":                     hangingReads,
		"children that die with them":       dyingChildren,
		"100 x 256 unread answers":          connections(100, calls(256, request(pods), true)),
		"half requests":                     connections(20, calls(256, body, false)),
		"half requests for metrics":         halfScrapes,
		"connections that say nothing":      connections(2000, func(*http2.Framer) error { return nil }),
		"calls that are reset":              connections(4, resets),
		"calls without pause, 256 at once":  callsWithoutPause,
		"failing calls on many connections": failingCalls,
	}
}

// attacker is the main function of an attacker.
func attacker(name string) int {
	do, known := attacks()[name]
	if !known {
		fmt.Fprintln(os.Stderr, "no such attack:", name)
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { do(ctx, agentAddress{os.Getenv(attackSocket), os.Getenv(attackMetrics)}) })
	fmt.Println("attacking")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	stop()
	ended.Wait()
	return 0
}

// attackWith starts an attacker, and returns when it has begun. It ends with the test, or with the returned function.
func (a agentAddress) attackWith(t *testing.T, name string) (end func()) {
	t.Helper()
	program, err := os.Executable()
	caller.OK(t, err)
	c := exec.Command(program)
	c.Env = append(os.Environ(), attackVariable+"="+name, attackSocket+"="+a.socket, attackMetrics+"="+a.metrics)
	c.Stderr = os.Stderr
	input, err := c.StdinPipe()
	caller.OK(t, err)
	output, err := c.StdoutPipe()
	caller.OK(t, err)
	caller.OK(t, c.Start())
	end = func() { _ = input.Close(); _ = c.Process.Kill(); _ = c.Wait() }
	t.Cleanup(end)
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "attacking\n" {
		t.Fatalf("the attacker %q printed %q, %v", name, line, err)
	}
	return end
}

// connections keeps many connections open, on each of which something is sent and nothing is read. A connection that
// the agent closes is opened again.
func connections(n int, send func(f *http2.Framer) error) func(ctx context.Context, a agentAddress) {
	return func(ctx context.Context, a agentAddress) {
		repeat(ctx, n, func() {
			if conn, err := testnode.DialRaw(ctx, a.socket); err == nil {
				_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second)) // the agent may stop reading
				leave(ctx, conn, func() error {
					if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
						return err
					}
					return send(http2.NewFramer(conn, nil))
				})
			}
			sleep(ctx, 100*time.Millisecond)
		})
	}
}

// repeat does something side by side, again and again until the context ends.
func repeat(ctx context.Context, n int, do func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				do()
			}
		})
	}
	all.Wait()
}

// leave sends something over a connection and leaves it open until the agent closes it or the context ends.
func leave(ctx context.Context, conn net.Conn, send func() error) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if send() == nil {
		_, _ = io.Copy(io.Discard, conn) // ends with the connection
	}
	_ = conn.Close()
}

// calls begins calls whose answers have no window, and sends a body with or without its end.
func calls(n int, body []byte, end bool) func(f *http2.Framer) error {
	return func(f *http2.Framer) error {
		err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		for i := range uint32(n) {
			if err == nil {
				err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: headers(), EndHeaders: true})
			}
			for left := body; err == nil && len(left) > 0; {
				part := left[:min(len(left), 16<<10)] // a frame
				left = left[len(part):]
				err = f.WriteData(2*i+1, end && len(left) == 0, part)
			}
		}
		return err
	}
}

// resets begins calls and resets them, as fast as the agent takes them.
func resets(f *http2.Framer) error {
	err := f.WriteSettings()
	for stream := uint32(1); err == nil && stream < 1<<30; stream += 2 {
		if err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers(),
			EndHeaders: true}); err == nil {
			err = f.WriteRSTStream(stream, http2.ErrCodeCancel)
		}
	}
	return err
}

// halfScrapes keeps 3000 connections to the metrics port open with half a request.
func halfScrapes(ctx context.Context, a agentAddress) {
	repeat(ctx, 3000, func() {
		if conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.metrics); err == nil {
			leave(ctx, conn, func() error {
				return only(io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("y", 7<<10)))
			})
		}
		sleep(ctx, 100*time.Millisecond)
	})
}

// repeatCalls calls on connections of its own, many calls at a time, until the context ends.
func repeatCalls(ctx context.Context, a agentAddress, callers, perConnection int,
	call func(c filesystem.FilesystemClient)) {
	repeat(ctx, callers, func() {
		conn, err := newConn(a.socket)
		for i := 0; err == nil && i < perConnection && ctx.Err() == nil; i++ {
			call(filesystem.NewFilesystemClient(conn))
		}
		if err == nil {
			_ = conn.Close()
		}
	})
}

// hangingReads asks for 300 paths at once, none of which Windows answers, gives up after a second and asks for others.
func hangingReads(ctx context.Context, a agentAddress) {
	var next atomic.Int64
	repeatCalls(ctx, a, 300, 1<<30, func(c filesystem.FilesystemClient) {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		path := fmt.Sprintf(`%s\%s-%d-%d`, pods, neverAnswers, os.Getpid(), next.Add(1))
		_, _ = c.PathExists(short, &filesystem.PathExistsRequest{Path: path})
		sleep(ctx, 100*time.Millisecond) // one that is refused comes back soon
	})
}

// neverAnswers is part of the paths for which Windows never answers.
const neverAnswers = "never-answers"

// dyingChildren has 30 children, one after the other, begin hanging reads and die.
func dyingChildren(ctx context.Context, _ agentAddress) {
	program, err := os.Executable()
	for i := 0; err == nil && i < 30 && ctx.Err() == nil; i++ {
		c := exec.Command(program)
		c.Env = append(os.Environ(), attackVariable+"=hanging reads")
		if _, err = c.StdinPipe(); err == nil {
			err = c.Start()
		}
		if err == nil {
			sleep(ctx, 200*time.Millisecond)
			_, _ = c.Process.Kill(), c.Wait()
		}
	}
	<-ctx.Done()
}

func callsWithoutPause(ctx context.Context, a agentAddress) {
	repeatCalls(ctx, a, 256, 1<<30, func(c filesystem.FilesystemClient) {
		_, _ = c.PathExists(ctx, &filesystem.PathExistsRequest{Path: pods})
	})
}

func failingCalls(ctx context.Context, a agentAddress) {
	repeatCalls(ctx, a, 4, 20, func(c filesystem.FilesystemClient) {
		_, _ = c.PathExists(ctx, &filesystem.PathExistsRequest{Path: "no path"})
	})
}

func newConn(socket string) (*grpc.ClientConn, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return testnode.DialRaw(ctx, socket) }
	return grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial))
}

// sleep waits, and not longer than the context lasts.
func sleep(ctx context.Context, d time.Duration) {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}
