// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// TestExercise records the exercise on this machine.
func TestExercise(t *testing.T) {
	path := os.Getenv(testnode.RecordingVariable)
	if path == "" {
		t.Skipf("require %s", testnode.RecordingVariable)
	}
	w, err := recording.Create(path, recording.ThisMachine("test/replay"))
	if err != nil {
		t.Fatal(err)
	}
	Exercise(recording.Record(windows.New(), w), t.TempDir())
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
