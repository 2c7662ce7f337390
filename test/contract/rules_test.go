// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"regexp"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The paths of these tests.
const (
	staging  = caller.Staging
	publish  = caller.Publish
	podsPath = caller.Pods
)

// ebsNothingMounted is the expression by which the AWS EBS driver recognises that nothing is mounted.
var ebsNothingMounted = regexp.MustCompile(
	`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

// Only where nothing is mounted do errors read so. TestAnswersAboutPaths has what a method answers there.
func TestRule01NothingMountedText(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	_, err := n.GetVolumeIDFromTargetPath(staging)
	if !ebsNothingMounted.MatchString(err.Error()) {
		t.Errorf("missing path: %v", err)
	}
	for name, path := range map[string]string{
		"empty":                     "",
		"outside":                   `C:\Windows`,
		"outside, quoting the text": `C:\because it does not exist`,
		"UNC":                       `\\server\share`,
	} {
		if _, err := n.GetVolumeIDFromTargetPath(path); err == nil || ebsNothingMounted.MatchString(err.Error()) {
			t.Errorf("%s: %v reads as nothing mounted", name, err)
		}
	}
}

func TestRule20IsVolumeFormattedIsNeverFalseByMistake(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	id := n.Raw(1)
	n.Formatted(1)
	for _, code := range []win32.Errno{
		win32.ERROR_ACCESS_DENIED, win32.ERROR_NOT_READY, win32.ERROR_CRC, win32.ERROR_INVALID_FUNCTION,
		win32.ERROR_NOT_SUPPORTED, win32.ERROR_IO_DEVICE,
		win32.ERROR_NO_SUCH_DEVICE, win32.ERROR_FILE_NOT_FOUND, win32.Errno(0x80310000),
	} {
		n.Faults.Add(testnode.Fault{Function: "VolumeInformation", Error: code})
		if yes, err := n.IsVolumeFormatted(id); err == nil {
			t.Errorf("%v: answered %t instead of failing", code, yes)
		}
		n.Faults.Release()
	}
	n.OK(n.SetDiskState(1, false))
	_, err := n.IsVolumeFormatted(id)
	n.Code(err, codes.NotFound)
	n.DetachDisk(1)
	_, err = n.IsVolumeFormatted(id)
	n.Code(err, codes.NotFound)
}
