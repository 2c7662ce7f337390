// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// methodsWithout are the methods that have no command: drivers need them, and people see the same elsewhere.
var methodsWithout = []string{"Volume.GetClosestVolumeIDFromTargetPath", "Volume.IsVolumeFormatted"}

// TestEveryMethodHasACommand finds methods of the newest versions without a command.
func TestEveryMethodHasACommand(t *testing.T) {
	_, a := commands()
	for _, method := range hubMethods() {
		_, name, _ := strings.Cut(method, ".")
		if a.callers[name] == nil && !slices.Contains(methodsWithout, method) {
			t.Errorf("%s has no command", method)
		}
	}
}

// hubMethods returns the methods of the newest version of every group.
func hubMethods() []string {
	var all []string
	for _, file := range []protoreflect.FileDescriptor{
		diskapi.File_client_api_disk_v1_api_proto,
		filesystemapi.File_client_api_filesystem_v2alpha1_api_proto,
		iscsiapi.File_client_api_iscsi_v1alpha2_api_proto,
		smbapi.File_client_api_smb_v1_api_proto,
		systemapi.File_client_api_system_v1alpha1_api_proto,
		volumeapi.File_client_api_volume_v2alpha1_api_proto,
	} {
		service := file.Services().Get(0)
		for i := range service.Methods().Len() {
			all = append(all, string(service.Name()+"."+service.Methods().Get(i).Name()))
		}
	}
	slices.Sort(all)
	return all
}
