// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest/internal/transcript"
)

func TestAssertJournalShowsTheDifference(t *testing.T) {
	t.Parallel()
	log, failed := run(t, func(tb testing.TB) {
		n := csiproxytest.Start(tb, csiproxytest.Options{})
		after := n.Newest()
		for _, number := range []uint32{1, 99} {
			_, _ = by(t, n).GetDiskState(number)
		}
		n.AssertJournal(filepath.Join("testdata", "state.want"), csiproxytest.JournalPart{After: after, Method: "disk"})
	})
	for _, want := range []string{
		"-csiproxytest.update", "\n v1.Disk/GetDiskState {\"disk_number\":1} -> OK",
		"\n-v1.Disk/GetDiskState {\"disk_number\":2} -> OK\n",
		"\n+v1.Disk/GetDiskState {\"disk_number\":99} -> NotFound: ",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if !failed {
		t.Error("the test did not fail")
	}
}

// Two nodes have other volumes, sessions and GUIDs; for the same calls their transcripts are the same, the arguments of
// the kernel calls included.
func TestTranscriptsAreTheSame(t *testing.T) {
	t.Parallel()
	var texts []string
	for range 2 {
		n := csiproxytest.Start(t, csiproxytest.Options{})
		plugin := newPlugin(t, n)
		n.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1", Offline: true})
		if err := plugin.Stage(t.Context(), "vol-1", staging); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Unstage(t.Context(), staging); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, transcript.Text(n.Journal(), true))
	}
	if texts[0] != texts[1] {
		t.Errorf("got\n%s\nand\n%s", texts[0], texts[1])
	}
	for _, want := range []string{"<volume 1>", "<guid 1>", "  FormatVolume ", "  SetVolumeMountPoint "} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("there is no %q in\n%s", want, texts[0])
		}
	}
}
