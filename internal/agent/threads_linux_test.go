// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// threadsVariable makes a copy of this program print how many threads it has after so many callers.
const threadsVariable = "AGENT_THREADS_CALLERS"

// slowly keeps the thread of a kernel call for a while, as a call does that waits for a device. Go takes up to 10 ms to
// see that a thread is blocked and to make another one.
func slowly(_ context.Context, call kernel.Call, do func() error) error {
	if call.Function == "OpenFile" {
		_ = syscall.Nanosleep(&syscall.Timespec{Nsec: int64(30 * time.Millisecond)}, nil)
	}
	return do()
}

// TestThreadsPerCaller counts the threads of an agent, each time in a new process: a program keeps those that it once
// had.
func TestThreadsPerCaller(t *testing.T) {
	if callers, err := strconv.Atoi(os.Getenv(threadsVariable)); err == nil {
		fmt.Printf("threads: %d\n", threadsAfter(t, callers))
		return
	}
	counts := []int{128}
	if testnode.Long() {
		counts = []int{1, 16, 64, 256}
	}
	for _, callers := range counts {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "-test.run=^TestThreadsPerCaller$")
		c.Env = append(os.Environ(), threadsVariable+"="+strconv.Itoa(callers), "GOMAXPROCS=2")
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		_, text, _ := strings.Cut(string(output), "threads: ")
		text, _, _ = strings.Cut(text, "\n")
		threads, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s", output)
		}
		t.Logf("%d callers: %d threads", callers, threads)
		if most := 64 + 16; threads > most { // a process may have 64 operations; the runtime has some
			t.Errorf("%d callers left %d threads, want %d at most", callers, threads, most)
		}
	}
}

// threadsAfter has callers look at as many paths, all at once, and returns how many threads this process has then.
func threadsAfter(t *testing.T, callers int) int {
	t.Helper()
	a := start(t, emulation.Config{StateDir: shortDir(t), Config: agent.Config{Interceptor: slowly}})
	c, err := filesystem.NewClientWithPipePath(filepath.Join(a.SocketDir(), "csi-proxy-filesystem-v2alpha1.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			path := fmt.Sprintf(`%s\pods\%d`, agent.KubeletDir, i)
			if _, err := c.PathExists(t.Context(), &filesystemapi.PathExistsRequest{Path: path}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "Threads:")
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	threads, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return threads
}
