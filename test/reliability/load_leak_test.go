// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// counts are the process's resources.
type counts struct {
	goroutines int
	files      []string // open files and sockets by name; none where the system does not list them
	heap       uint64
}

// counts reboots the node, which lets go of the files of its volumes, and counts when nothing is under way.
func (p *loadNode) counts(t *testing.T) counts {
	t.Helper()
	caller.OK(t, p.reboot())
	p.reboots--
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return counts{goroutines: runtime.NumGoroutine(), files: openFiles(), heap: m.HeapAlloc}
}

// openFiles returns the names of what is open, as Linux has them, without the numbers of sockets and pipes.
func openFiles() []string {
	const dir = "/proc/self/fd"
	entries, _ := os.ReadDir(dir) // other systems have no such list
	var names []string
	for _, entry := range entries {
		if name, err := os.Readlink(filepath.Join(dir, entry.Name())); err == nil { // the directory itself is closed by now
			kind, _, _ := strings.Cut(name, ":[")
			names = append(names, kind)
		}
	}
	slices.Sort(names)
	return names
}

// wantNoMore waits for what ends by itself, idle goroutines and connections, and compares with an earlier count.
func (p *loadNode) wantNoMore(t *testing.T, before counts) {
	t.Helper()
	const heapSlack = 64 << 20 // the journal and the caches, which are bounded: 1173 lives and 2094 left the same 35 MiB
	var now counts
	for begin := time.Now(); time.Since(begin) < testTimeout; {
		now = p.counts(t)
		if now.goroutines <= before.goroutines && len(now.files) <= len(before.files) && now.heap <= before.heap+heapSlack {
			t.Logf("held before and after: goroutines %d, %d; files and sockets %d, %d; heap %d KiB, %d KiB",
				before.goroutines, now.goroutines, len(before.files), len(now.files), before.heap>>10, now.heap>>10)
			return
		}
	}
	buffer := make([]byte, 1<<20)
	t.Errorf("the agent holds more than before: goroutines %d, %d; heap %d KiB, %d KiB; open files (-before "+
		"+now):\n%s\nits goroutines:\n%s",
		before.goroutines, now.goroutines, before.heap>>10, now.heap>>10, cmp.Diff(before.files, now.files),
		buffer[:runtime.Stack(buffer, true)])
}
