// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/api"
)

// TestParsePath takes apart the path of every released method, and gets the folder of its proto.
func TestParsePath(t *testing.T) {
	files, err := api.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	parsed := 0
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service, folder := file.Services().Get(i), strings.Split(file.Path(), "/")
			for j := range service.Methods().Len() {
				method := string(service.Methods().Get(j).Name())
				path := "/" + string(service.FullName()) + "/" + method
				want := Path{folder[2], folder[3], method}
				if got, ok := ParsePath(path); got != want || !ok {
					t.Errorf("%s: got %v, %t, want %v", path, got, ok, want)
				}
				parsed++
			}
		}
		return true
	})
	if parsed == 0 {
		t.Error("there are no methods")
	}
}

func TestNoPaths(t *testing.T) {
	for _, path := range []string{"", "/", "nonsense", "/v1.Disk", "/v1.Disk/", "/Disk/Rescan", "/disk.Disk/Rescan",
		"/v1.Disk/Rescan/x", "/v1.Other/Rescan", "/v1alpha1.NodeSteps/Expand", "/csiproxy.disk.v1.Disk/Rescan",
		"/csiproxy.nodesteps.NodeSteps/Expand", "/csiproxy.admin.v1alpha1.Admin/GetFacts", "/grpc.health.v1.Health/Check"} {
		if got, ok := ParsePath(path); ok {
			t.Errorf("%q: got %v", path, got)
		}
	}
}
