// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// How large the trees are: go test ./test/hostile -run TreesWithoutEnd -tree-files 1000000 -tree-levels 50000.
var (
	treeFiles  = flag.Int("tree-files", inLongRun(40_000, 20_000), "files in the wide tree")
	treeLevels = flag.Int("tree-levels", inLongRun(4_000, 1_000), "levels of the deep tree")
)

// TestTreesWithoutEnd removes trees that a workload made as wide or as deep as it could, with callers that give up
// after a second and ask again. Seen from outside, the agent's process needs no more memory and handles than for any
// other call.
func TestTreesWithoutEnd(t *testing.T) {
	const (
		mostMemory  = 16 << 20
		mostHandles = 64
	)
	for name, c := range map[string]struct {
		make   func(t *testing.T, dir string)
		remove func(ctx context.Context, c *v2alpha1.Client, path string) error
	}{
		"wide": {
			func(t *testing.T, dir string) { wideTree(t, dir, *treeFiles) },
			func(ctx context.Context, c *v2alpha1.Client, path string) error {
				_, err := c.RmdirContents(ctx, &api.RmdirContentsRequest{Path: path})
				return err
			},
		},
		"deep": {
			func(t *testing.T, dir string) { deepTree(t, dir, *treeLevels) },
			func(ctx context.Context, c *v2alpha1.Client, path string) error {
				_, err := c.Rmdir(ctx, &api.RmdirRequest{Path: path, Force: true})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := memoryDir(t)
			p := testnode.LaunchEmulated(t, "-state-dir="+state, "-socket-dir="+filepath.Join(state, "run"))
			client, err := v2alpha1.NewClientWithPipePath(filepath.Join(state, "run", "csi-proxy-filesystem-v2alpha1.sock"))
			noError(t, err)
			defer func() { _ = client.Close() }()
			_, err = client.Mkdir(t.Context(), &api.MkdirRequest{Path: pods + `\tree`})
			noError(t, err)
			host, err := filepath.Glob(filepath.Join(state, "disks", "*", "volumes", "*", "var", "lib", "kubelet", "pods", "tree"))
			noError(t, err)
			if len(host) != 1 {
				t.Fatalf("the directory is at %q", host)
			}
			wideTree(t, host[0], 100) // the first removal brings the program's pages into memory
			noError(t, c.remove(t.Context(), client, pods+`\tree`))
			_, err = client.Mkdir(t.Context(), &api.MkdirRequest{Path: pods + `\tree`})
			noError(t, err)
			c.make(t, host[0])

			pid := p.Command.Process.Pid
			idle, idleHandles := sizeOf(t, pid, "VmRSS:"), handles(t, pid)
			most := 0
			calls, begin := 0, time.Now()
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				done := make(chan error, 1)
				go func() { done <- c.remove(ctx, client, pods+`\tree`) }()
				for over := false; !over; {
					select {
					case err = <-done:
						over = true
					case <-time.After(time.Millisecond):
						most = max(most, handles(t, pid))
					}
				}
				cancel()
				calls++
				if code := codeOf(err); code != codes.DeadlineExceeded {
					noError(t, err)
					break
				}
			}
			grown, more := sizeOf(t, pid, "VmHWM:")-idle, most-idleHandles
			if grown > mostMemory || more > mostHandles {
				t.Errorf("the process grew by %d KiB and %d handles", grown>>10, more)
			}
			if left, err := os.ReadDir(host[0]); len(left) > 0 || err != nil && !os.IsNotExist(err) {
				t.Errorf("%d entries are left, %v", len(left), err)
			}
			t.Logf("%d calls in %v; the process of %d KiB grew by %d KiB and %d handles",
				calls, time.Since(begin).Round(time.Millisecond), idle>>10, grown>>10, more)
		})
	}
}

// memoryDir returns a temporary directory in memory, if the host has that: a node makes every removal durable, and a
// disk would be measured.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "csi") //nolint:usetesting // not where the host has its temporary files
	if err != nil {
		return testnode.ShortDir(t)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// wideTree makes many names as long as they can be. They are names of a few files, which takes less time.
func wideTree(t *testing.T, dir string, files int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	noError(t, err)
	defer func() { _ = unix.Close(at) }()
	first := ""
	for i := range files {
		name := fmt.Sprintf("%s%07d", strings.Repeat("n", 248), i)
		if i%10_000 == 0 { // a file has at most 65,000 names
			first = name
			noError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			continue
		}
		noError(t, unix.Linkat(at, first, at, name, 0))
	}
}

// deepTree makes directories in each other, deeper than a path of the host can say.
func deepTree(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	noError(t, err)
	name := strings.Repeat("d", 255)
	for range levels {
		noError(t, unix.Mkdirat(at, name, 0o700))
		below, err := unix.Openat(at, name, unix.O_DIRECTORY, 0)
		noError(t, err)
		noError(t, unix.Close(at))
		at = below
	}
	noError(t, unix.Close(at))
}

// sizeOf returns a number of bytes from the status of a process.
func sizeOf(t *testing.T, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	noError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			noError(t, err)
			return n << 10
		}
	}
	t.Fatalf("no %s in the status of process %d", field, pid)
	return 0
}

// handles returns how many files a process has open.
func handles(t *testing.T, pid int) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	noError(t, err)
	return len(open)
}
