// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// programVariable names the csi-proxy.exe that BenchmarkProgram measures, this project's or the original.
const programVariable = "CSI_PROXY_BENCH"

// settle is how long a program has, after the calls, to return memory before it is measured.
const settle = 20 * time.Second

// BenchmarkProgram measures an agent of this machine as a process of its own: its start, until it answers, its memory
// before and after the calls, and PathExists, which every release has, beside the echo.
func BenchmarkProgram(b *testing.B) {
	file := os.Getenv(programVariable)
	if file == "" {
		b.Skip(programVariable + " names no csi-proxy.exe")
	}
	const pipe = `\\.\pipe\csi-proxy-filesystem-v1`
	if err := os.MkdirAll(staged, 0o750); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(driver) })
	r := read{"filesystem", "v1", "v1.Filesystem", "PathExists", &filesystem.PathExistsRequest{Path: staged},
		&filesystem.PathExistsResponse{Exists: true}}
	start := func(b *testing.B) *testnode.Process {
		b.Helper()
		program := exec.Command(file)
		program.Dir = `C:\` // Wine looks for the rest of a path below the directory in which a program begins
		p := testnode.BeginCommand(b, program)
		for {
			// A program may have its pipe before it takes connections: gRPC would wait for twenty seconds.
			ctx, cancel := context.WithTimeout(b.Context(), 100*time.Millisecond)
			conn, err := dial.Open(ctx, pipe, dial.Options{})
			if err == nil {
				err = r.call(ctx, conn)
				_ = conn.Close()
			}
			cancel()
			if err == nil {
				return p
			}
			select {
			case <-p.Ended: // perhaps another agent has the pipe
				b.Fatalf("%s ended: %s", file, p.Logged())
			case <-time.After(time.Millisecond):
			}
		}
	}
	b.Run("Start", func(b *testing.B) {
		for b.Loop() {
			start(b).Kill()
		}
	})
	p := start(b)
	memory := func(b *testing.B) {
		b.Helper()
		b.ReportMetric(memoryOf(b, uint32(p.Command.Process.Pid)), "B-resident")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("Idle", memory)
	echo := openEcho(b)
	agentConns, echoConns := connect(b, callers, pipe), connect(b, callers, echo)
	answer := &filesystem.PathExistsResponse{}
	err := agentConns[0].Invoke(b.Context(), "/"+r.service+"/"+r.method, r.request, answer)
	if err != nil || !answer.GetExists() { // a wrong answer may be a fast one
		b.Fatalf("the directory that is there: %v, %v", answer, err)
	}
	beside(b, r, "callers=1", 1, agentConns[:1], echoConns[:1])
	beside(b, r, fmt.Sprintf("callers=%d", callers), callers, agentConns[:1], echoConns[:1])
	beside(b, r, fmt.Sprintf("connections=%d", callers), callers, agentConns, echoConns)
	time.Sleep(settle)
	b.Run("Used", memory)
}

// memoryOf returns the working set of a process in bytes.
//
// BOOL GetProcessMemoryInfo(HANDLE Process, PPROCESS_MEMORY_COUNTERS ppsmemCounters, DWORD cb);
// https://learn.microsoft.com/windows/win32/api/psapi/nf-psapi-getprocessmemoryinfo
func memoryOf(b *testing.B, pid uint32) float64 {
	b.Helper()
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, pid)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var counters struct { // PROCESS_MEMORY_COUNTERS
		size, pageFaults             uint32
		peakWorkingSet, workingSet   uintptr
		pools                        [4]uintptr
		pagefileUsage, peakPageUsage uintptr
	}
	counters.size = uint32(unsafe.Sizeof(counters))
	ok, _, err := windows.NewLazySystemDLL("psapi.dll").NewProc("GetProcessMemoryInfo").Call(
		uintptr(process), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	if ok == 0 {
		b.Fatal("GetProcessMemoryInfo: ", err)
	}
	return float64(counters.workingSet)
}
