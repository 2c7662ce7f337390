// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"os"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/recording"
)

// RecordingVariable names the environment variable with the file to which the kernel calls of agents are appended that
// run in the tests' own process.
const RecordingVariable = "CSI_PROXY_RECORDING"

// recorder returns what records an agent's kernel calls until the test ends; nil: nothing does.
func recorder(t testing.TB) kernel.Interceptor {
	t.Helper()
	path := os.Getenv(RecordingVariable)
	if path == "" {
		return nil
	}
	f, err := recordings()
	if err != nil {
		t.Fatal(err)
	}
	r := recording.New(f, t.Name())
	t.Cleanup(func() {
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	})
	return r.Intercept
}

// recordings is the file that the recorders of tests that run side by side share, until the process ends: not every
// system appends whole lines of several handles.
var recordings = sync.OnceValues(func() (*appended, error) {
	f, err := os.OpenFile(os.Getenv(RecordingVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &appended{f: f}, err
})

type appended struct {
	mu sync.Mutex
	f  *os.File
}

func (a *appended) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Write(line)
}
