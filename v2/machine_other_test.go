// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package v2_test

import (
	"strings"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// TestThisMachine: off Windows, calls on this machine fail and say what to do.
func TestThisMachine(t *testing.T) {
	for group, err := range calls(diskapi.New(), filesystemapi.New(), iscsiapi.New(), smbapi.New(),
		systemapi.New(), volumeapi.New()) {
		if err == nil || !strings.Contains(err.Error(), "not a Windows node") ||
			!strings.Contains(err.Error(), "hostapi.FromClient") {
			t.Errorf("%s: %v, want an error that names hostapi.FromClient", group, err)
		}
	}
}
