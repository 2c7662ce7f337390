// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// FAT and exFAT know no reparse points and no POSIX deletion. A volume that was formatted elsewhere is walked all the
// same.
func TestVolumeWithoutReparsePoints(t *testing.T) {
	s, err := scenario.Parse("disk", []byte("disks: [{size: 1GiB, content: formatted, fileSystem: exFAT}]"))
	caller.OK(t, err)
	n := caller.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}})
	id := n.Volumes(1)[0]
	n.Refused(n.FormatVolume(id), codes.FailedPrecondition, "VOLUME_NOT_BLANK", "exFAT")
	n.OK(n.MountVolume(id, staging))
	n.OK(n.Mkdir(staging + `\a\b\c`))
	n.WriteFile(staging+`\a\b\file`, "x")
	n.WriteFile(staging+`\a\fixed`, "x")
	n.OK(os.Chmod(n.HostPath(staging+`\a\fixed`), 0o400))
	if !n.Exists(staging+`\a\b\file`) || n.Exists(staging+`\a\missing`) || n.IsLink(staging+`\a\b`) {
		t.Error("what is there, and what is not, is not told")
	}
	if total, used, err := n.GetVolume(staging); err != nil || total < 900<<20 || used != 2<<12 {
		t.Errorf("%d of %d bytes are used, %v, want two clusters", used, total, err)
	}
	n.Code(n.Rmdir(staging+`\a\b`, false), codes.FailedPrecondition)
	n.OK(n.Rmdir(staging+`\a\b\c`, false))
	n.OK(n.Rmdir(staging+`\a`, true))
	if n.Exists(staging + `\a`) {
		t.Error("a directory is still there")
	}
	n.OK(n.UnmountVolume(id, staging))
}

// TestLinkMadeDespiteAnError: Windows makes a link's directory and reports a failure. The caller must not be told that
// something else is in the link's place: it would believe that its call had no effect.
func TestLinkMadeDespiteAnError(t *testing.T) {
	for name, fault := range map[string]testnode.Fault{
		"made":     {Function: "OpenFile", Skip: 3, Times: 1, Error: win32.ERROR_NOT_READY, After: true},
		"not made": {Function: "OpenFile", Skip: 3, Times: 1, Error: win32.ERROR_IO_DEVICE},
	} {
		t.Run(name, func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			n.Faults.Add(fault)
			n.Code(n.CreateSymlink(examples.Plugins, examples.Plugins+`\link`), codes.Unavailable)
		})
	}
}

// democratic-csi removes without force and reads the sentence of Windows for success.
func TestRemovalOfAMissingPathHasWindowsSentence(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	const sentence = "The system cannot find the file specified"
	for _, path := range []string{podsPath + `\missing`, podsPath + `\missing\below`} {
		n.Code(n.Rmdir(path, false), codes.NotFound, sentence)
	}
	n.OK(n.Mkdir(podsPath + `\a\b`))
	if err := n.Rmdir(podsPath+`\a`, false); err == nil || strings.Contains(err.Error(), sentence) {
		t.Errorf("a directory that is not empty: %v", err)
	}
}
