// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
)

// RecordingVariable names the environment variable with the file to which the kernel calls of agents go that run in the
// tests' own process. Emulated nodes, of which several run at once, have files of their own beside it: FILE-1.jsonl for
// FILE.jsonl.
const RecordingVariable = "CSI_PROXY_RECORDING"

// recordedNodes counts the emulated nodes that were recorded.
var recordedNodes atomic.Int64

// emulatedFile returns the file for the next emulated node; empty: nothing is recorded.
func emulatedFile() string {
	path := os.Getenv(RecordingVariable)
	if path == "" {
		return ""
	}
	end := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, end), recordedNodes.Add(1), end)
}

// record returns the kernel with its calls recorded in a file until the test ends.
func record(t testing.TB, k kernel.Kernel, path string, h recording.Header) kernel.Kernel {
	t.Helper()
	w, err := recording.Create(path, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	})
	return recording.Record(k, w)
}
