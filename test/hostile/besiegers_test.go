// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
)

// neverAnswers is part of the paths of which Windows never says anything.
const neverAnswers = "never-answers"

// singleRaids are attacks that need another kind of work than many connections of a kind.
func singleRaids() map[string]attacker {
	return map[string]attacker{
		"hung calls":      hungCalls(64),
		"256 hung calls":  hungCalls(256),
		"dying children":  dyingChildren,
		"failing calls":   failingCalls,
		"swapped parts":   swappedParts,
		"wide trees":      wideTrees,
		"services":        stoppedServices,
		"rapid reset":     flood(func(f *http2.Framer, stream uint32) error { return reset(f, stream, false) }),
		"made you reset":  flood(func(f *http2.Framer, stream uint32) error { return reset(f, stream, true) }), // CVE-2025-8671
		"settings":        flood(func(f *http2.Framer, _ uint32) error { return f.WriteSettings() }),
		"pings":           flood(func(f *http2.Framer, _ uint32) error { return f.WritePing(false, [8]byte{}) }),
		"continuations":   flood(continuations),
		"no HTTP/2":       noHTTP2,
		"short deadlines": shortDeadlines,
	}
}

// reset begins a call and has it reset: by itself, or by the agent, which must not accept an increment of 0.
func reset(f *http2.Framer, stream uint32, byAgent bool) error {
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers(), EndHeaders: true})
	if err == nil {
		err = f.WriteData(stream, true, request(pods))
	}
	switch {
	case err != nil:
		return err
	case byAgent:
		return f.WriteRawFrame(http2.FrameWindowUpdate, 0, stream, make([]byte, 4))
	default:
		return f.WriteRSTStream(stream, http2.ErrCodeCancel)
	}
}

func continuations(f *http2.Framer, stream uint32) error {
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers()}); err != nil {
		return err
	}
	for { // until the agent hangs up
		if err := f.WriteContinuation(stream, false, headerField("x", strings.Repeat("y", 1000))); err != nil {
			return err
		}
	}
}

// flood sends frames as fast as the agent takes them, and begins anew when it hangs up.
func flood(send func(f *http2.Framer, stream uint32) error) attacker {
	return func(ctx context.Context, b battlefield, begun func()) {
		for ctx.Err() == nil {
			conn, err := overHTTP2(func(f *http2.Framer) error { return f.WriteSettings() })(ctx, b)
			begun()
			if err == nil {
				release := context.AfterFunc(ctx, func() { _ = conn.Close() })
				_ = conn.SetWriteDeadline(time.Time{})
				go func() { _, _ = io.Copy(io.Discard, conn) }()
				f := http2.NewFramer(conn, nil)
				for stream := uint32(1); err == nil && ctx.Err() == nil && stream < 1<<30; stream += 2 {
					err = send(f, stream)
				}
				release()
			}
			if conn != nil {
				_ = conn.Close()
			}
			sleep(ctx, 10*time.Millisecond)
		}
	}
}

// noHTTP2 speaks something else.
func noHTTP2(ctx context.Context, b battlefield, begun func()) {
	for ctx.Err() == nil {
		if conn, err := b.dial(ctx); err == nil {
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"+strings.Repeat("x", 64<<10))
			_ = conn.Close()
		}
		begun()
		sleep(ctx, time.Millisecond)
	}
}

// repeat calls over one connection after the other, many at a time, until the context ends.
func repeat(ctx context.Context, b battlefield, begun func(), callers, perConnection int, do func(ctx context.Context, c filesystem.FilesystemClient, i int)) {
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				conn, err := newConn(b.socket("filesystem", "v2alpha1"))
				if err != nil {
					return
				}
				for i := 0; i < perConnection && ctx.Err() == nil; i++ {
					do(ctx, filesystem.NewFilesystemClient(conn), i)
					begun()
				}
				_ = conn.Close()
			}
		})
	}
	all.Wait()
}

// hungCalls asks for other paths each time, none of which Windows answers, and gives up after a second.
func hungCalls(callers int) attacker {
	return func(ctx context.Context, b battlefield, begun func()) {
		var next atomic.Int64
		repeat(ctx, b, begun, callers, 1<<30, func(ctx context.Context, c filesystem.FilesystemClient, _ int) {
			begun()
			path := fmt.Sprintf(`%s\%s-%d-%d`, pods, neverAnswers, os.Getpid(), next.Add(1))
			hurried(ctx, time.Second, func(ctx context.Context) {
				_, _ = c.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
			})
		})
	}
}

// failingCalls writes to the log as often as it may, over a new connection after every 200 failures.
func failingCalls(ctx context.Context, b battlefield, begun func()) {
	repeat(ctx, b, begun, 4, 200, func(ctx context.Context, c filesystem.FilesystemClient, _ int) {
		_, _ = c.PathExists(ctx, &filesystem.PathExistsRequest{Path: "no path"})
	})
}

// shortDeadlines gives up before, while and after the agent is at work.
func shortDeadlines(ctx context.Context, b battlefield, begun func()) {
	repeat(ctx, b, begun, 8, 1000, func(ctx context.Context, c filesystem.FilesystemClient, i int) {
		hurried(ctx, time.Duration(i)*20*time.Microsecond, func(ctx context.Context) {
			_, _ = c.Mkdir(ctx, &filesystem.MkdirRequest{Path: pods + `\short`})
		})
	})
}

// hurried does something with a deadline.
func hurried(ctx context.Context, d time.Duration, do func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	do(ctx)
}

// dyingChildren has one child after the other leave hung calls behind.
func dyingChildren(ctx context.Context, b battlefield, begun func()) {
	program, err := os.Executable()
	for err == nil && ctx.Err() == nil {
		c := command(program, raidVariable+"=256 hung calls", raidSockets+"="+b.sockets)
		var input io.WriteCloser
		if input, err = c.StdinPipe(); err == nil {
			err = c.Start()
		}
		if err == nil {
			sleep(ctx, 300*time.Millisecond)
			_ = input.Close()
			_ = c.Wait()
		}
		begun()
	}
}

// stoppedServices tries to stop what the node needs.
func stoppedServices(ctx context.Context, b battlefield, begun func()) {
	for ctx.Err() == nil {
		if conn, err := newConn(b.socket("system", "v1alpha1")); err == nil {
			for _, name := range []string{"kubelet", "LanmanWorkstation", "lanmanworkstation ", "WinDefend"} {
				_, _ = system.NewSystemClient(conn).StopService(ctx, &system.StopServiceRequest{Name: name, Force: true})
			}
			_ = conn.Close()
		}
		begun()
		sleep(ctx, time.Millisecond)
	}
}

// swapTarget is the directory in the node's state directory, outside its drives, to which the link leads. It holds one other.
const swapTarget = "outside"

// swappedParts has the agent make and remove directories below one that becomes a link, and back, all the time.
func swappedParts(ctx context.Context, b battlefield, begun func()) {
	outside := filepath.Join(b.sockets, "..", swapTarget)
	plain, linked, swap := filepath.Join(b.files, "plain"), filepath.Join(b.files, "link"), filepath.Join(b.files, "swap")
	_ = os.MkdirAll(filepath.Join(outside, "victim"), 0o755)
	_ = os.Symlink(outside, linked)
	go func() {
		for ctx.Err() == nil {
			_ = swapOnce(swap, plain, linked)
		}
	}()
	repeat(ctx, b, begun, 2, 1000, func(ctx context.Context, c filesystem.FilesystemClient, i int) {
		if i%2 == 0 {
			_, _ = c.Mkdir(ctx, &filesystem.MkdirRequest{Path: pods + `\swap\made`})
		} else {
			_, _ = c.Rmdir(ctx, &filesystem.RmdirRequest{Path: pods + `\swap\made`, Force: true})
		}
	})
}

// wideTrees makes a tree of 20,000 files and has it removed by calls that give up after 50 ms, over and over.
func wideTrees(ctx context.Context, b battlefield, begun func()) {
	dir := filepath.Join(b.files, "wide")
	repeat(ctx, b, begun, 1, 1<<30, func(ctx context.Context, c filesystem.FilesystemClient, _ int) {
		begun()
		if err := os.Mkdir(dir, 0o755); err == nil || errors.Is(err, os.ErrExist) {
			for i := range 20000 {
				if os.WriteFile(filepath.Join(dir, fmt.Sprintf("%0100d", i)), nil, 0o600) != nil || ctx.Err() != nil {
					break
				}
			}
		}
		for err := error(nil); ctx.Err() == nil; {
			hurried(ctx, 50*time.Millisecond, func(ctx context.Context) {
				_, err = c.Rmdir(ctx, &filesystem.RmdirRequest{Path: pods + `\wide`, Force: true})
			})
			if err == nil {
				return
			}
		}
	})
}
