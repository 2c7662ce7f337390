// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// A raider is a copy of this program that attacks an agent, because the agent tells clients apart by their process. It
// prints a line when its first wave has been sent, and goes on until its standard input ends.
const (
	raidVariable = "HOSTILE_RAID"         // what it does: a name in raids
	raidSockets  = "HOSTILE_RAID_SOCKETS" // the directory of the agent's sockets
	raidMetrics  = "HOSTILE_RAID_METRICS" // the address of its metrics port
	raidFiles    = "HOSTILE_RAID_FILES"   // where the node's pods directory is on this machine; empty: unknown
)

// battlefield is where the agent is.
type battlefield struct{ sockets, metrics, files string }

func (b battlefield) socket(group, version string) string {
	return filepath.Join(b.sockets, "csi-proxy-"+group+"-"+version+".sock")
}

// dial connects to the filesystem API.
func (b battlefield) dial(ctx context.Context) (net.Conn, error) {
	return testnode.DialRaw(ctx, b.socket("filesystem", "v2alpha1"))
}

// A wave is one connection's part of an attack. It returns when it has sent all that it has, or the agent takes no more;
// the connection then stays open until the agent closes it, and the wave is repeated on a new one.
type wave func(ctx context.Context, b battlefield) (net.Conn, error)

// An attacker goes on until its context ends, and reports when its first wave has been sent.
type attacker func(ctx context.Context, b battlefield, begun func())

// raids are the attacks of one process, by name.
func raids() map[string]attacker {
	all := crowdRaids()
	maps.Copy(all, singleRaids())
	return all
}

// crowdRaids are attacks by many connections.
func crowdRaids() map[string]attacker {
	unread := func(headers, calls int) wave {
		return overHTTP2(func(f *http2.Framer) error {
			if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
				return err
			}
			return begin(f, calls, headers, request(pods), true)
		})
	}
	half := func(headers, calls int, body []byte) wave {
		return overHTTP2(func(f *http2.Framer) error {
			if err := f.WriteSettings(); err != nil {
				return err
			}
			return begin(f, calls, headers, body, false)
		})
	}
	watches := overHTTP2(func(f *http2.Framer) error {
		if err := f.WriteSettings(); err != nil {
			return err
		}
		return beginAt(f, healthpb.Health_Watch_FullMethodName, 32, 7<<10, []byte{0, 0, 0, 0, 0}, true)
	})
	silent := func(ctx context.Context, b battlefield) (net.Conn, error) { return b.dial(ctx) }
	greeting := overHTTP2(func(f *http2.Framer) error { return f.WriteSettings() })
	scrape := func(ctx context.Context, b battlefield) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", b.metrics)
		if err == nil {
			_, err = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("y", 7<<10))
		}
		return conn, err
	}
	body := append([]byte{0, 0, 1, 0, 0}, make([]byte, 60<<10)...)
	return map[string]attacker{
		"unread answers":                   crowds(crowdOf{connections: 100, wave: unread(0, 250)}),
		"nothing is read":                  crowds(crowdOf{connections: 100, wave: unread(0, 250), deaf: true}),
		"unread answers, 7 KiB of headers": crowds(crowdOf{connections: 100, wave: unread(7<<10, 250)}),
		"unread answers, 60 KB of headers": crowds(crowdOf{connections: 20, wave: unread(60000, 250)}),
		"4352 calls without a body":        crowds(crowdOf{connections: 17, wave: half(7<<10, 256, nil)}),
		"half requests of 60 KiB":          crowds(crowdOf{connections: 20, wave: half(0, 256, body)}),
		"12000 half requests for metrics":  crowds(crowdOf{connections: 12000, wave: scrape}),
		"silent connections":               crowds(crowdOf{connections: 4000, wave: silent}),
		"idle connections":                 crowds(crowdOf{connections: 4000, wave: greeting}),
		"everything": crowds(
			crowdOf{connections: 100, wave: unread(7<<10, 250)}, crowdOf{connections: 17, wave: half(7<<10, 256, nil)},
			crowdOf{connections: 20, wave: half(0, 256, body)}, crowdOf{connections: 2, wave: watches},
			crowdOf{connections: 1000, wave: greeting}, crowdOf{connections: 1000, wave: silent}, crowdOf{connections: 300, wave: scrape}),
	}
}

// crowdOf is a number of connections with the same wave.
type crowdOf struct {
	connections int
	wave        wave
	deaf        bool // they read nothing at all; the others take what needs no window
}

// overHTTP2 returns the wave that sends something after the preface, and reads nothing.
func overHTTP2(send func(f *http2.Framer) error) wave {
	return func(ctx context.Context, b battlefield) (net.Conn, error) {
		conn, err := b.dial(ctx)
		if err != nil {
			return nil, err
		}
		_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second)) // the agent may stop reading
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			return conn, err
		}
		return conn, send(http2.NewFramer(conn, nil))
	}
}

// begin begins calls of PathExists with an additional header of a length, and sends a body with or without its end.
func begin(f *http2.Framer, calls, header int, body []byte, end bool) error {
	return beginAt(f, "/v2alpha1.Filesystem/PathExists", calls, header, body, end)
}

func beginAt(f *http2.Framer, method string, calls, header int, body []byte, end bool) error {
	block := headersOf(method)
	if header > 0 { // never indexed, so that each call brings its own
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		_ = e.WriteField(hpack.HeaderField{Name: "x-long", Value: strings.Repeat("~", header), Sensitive: true}) // into memory
		block = append(block, b.Bytes()...)
	}
	for i := range uint32(calls) {
		const most = 16 << 10 // in a frame
		first, rest := block[:min(len(block), most)], block[min(len(block), most):]
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: first, EndHeaders: len(rest) == 0})
		for err == nil && len(rest) > 0 {
			n := min(len(rest), most)
			err = f.WriteContinuation(2*i+1, n == len(rest), rest[:n])
			rest = rest[n:]
		}
		for left := body; err == nil && len(left) > 0; {
			n := min(len(left), most)
			err = f.WriteData(2*i+1, end && n == len(left), left[:n])
			left = left[n:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// longestWave is how long the first wave may take.
const longestWave = 3 * time.Second

// crowds attacks with several crowds at once.
func crowds(all ...crowdOf) attacker {
	return func(ctx context.Context, b battlefield, begun func()) {
		var sent, ended sync.WaitGroup
		for _, crowd := range all {
			sent.Add(crowd.connections)
			for range crowd.connections {
				ended.Go(func() { keepAt(ctx, b, crowd, sync.OnceFunc(sent.Done)) })
			}
		}
		go func() { // not for ever: what the agent does not take, it does not take
			sleep(ctx, longestWave)
			begun()
		}()
		sent.Wait()
		begun()
		ended.Wait()
	}
}

// raid is the main function of a raider.
func raid(name string) int {
	attack, known := raids()[name]
	if !known {
		fmt.Fprintln(os.Stderr, "no such raid:", name)
		return 1
	}
	b := battlefield{os.Getenv(raidSockets), os.Getenv(raidMetrics), os.Getenv(raidFiles)}
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { attack(ctx, b, sync.OnceFunc(func() { fmt.Println("attacking") })) })
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	stop()
	ended.Wait()
	return 0
}

// keepAt sends a wave, waits until the agent closes the connection, and begins anew.
func keepAt(ctx context.Context, b battlefield, c crowdOf, sent func()) {
	for ctx.Err() == nil {
		conn, _ := c.wave(ctx, b) // a refused wave is one that has been sent
		sent()
		if conn == nil {
			sleep(ctx, 100*time.Millisecond) // too many wait for the agent to accept them
			continue
		}
		release := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if c.deaf {
			sleep(ctx, 40*time.Second) // longer than the agent keeps such a connection
		} else {
			_, _ = io.Copy(io.Discard, conn) // ends with the connection
		}
		release()
		_ = conn.Close()
	}
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

// command returns this program again, with more in its environment.
func command(program string, variables ...string) *exec.Cmd {
	c := exec.Command(program)
	c.Env = append(os.Environ(), variables...)
	c.Stderr = os.Stderr
	return c
}
