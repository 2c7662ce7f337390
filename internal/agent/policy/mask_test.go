// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
)

func TestMasks(t *testing.T) {
	paths := []string{
		"/v1.Disk/ListDiskIDs", "/v1beta3.Disk/ListDiskIDs", "/v1.Disk/Rescan", "/v1.Volume/MountVolume",
		"/v1alpha2.Iscsi/ListTargetPortals", "/csiproxy.emulated.v1alpha1.EmulatedNode/Reboot",
		"/grpc.health.v1.Health/Check", "nonsense",
	}
	for mask, want := range map[string][]string{
		"disk":                {"/v1.Disk/ListDiskIDs", "/v1beta3.Disk/ListDiskIDs", "/v1.Disk/Rescan"},
		"Disk/*":              {"/v1.Disk/ListDiskIDs", "/v1beta3.Disk/ListDiskIDs", "/v1.Disk/Rescan"},
		"disk/ListDiskIDs":    {"/v1.Disk/ListDiskIDs", "/v1beta3.Disk/ListDiskIDs"},
		"disk/v1":             {"/v1.Disk/ListDiskIDs", "/v1.Disk/Rescan"},
		"disk/v1/listdiskids": {"/v1.Disk/ListDiskIDs"},
		"*/v1/*":              {"/v1.Disk/ListDiskIDs", "/v1.Disk/Rescan", "/v1.Volume/MountVolume"},
		"*/MountVolume":       {"/v1.Volume/MountVolume"},
		"*": {"/v1.Disk/ListDiskIDs", "/v1beta3.Disk/ListDiskIDs", "/v1.Disk/Rescan",
			"/v1.Volume/MountVolume", "/v1alpha2.Iscsi/ListTargetPortals"},
		"/v1alpha2.iSCSI/ListTargetPortals": {"/v1alpha2.Iscsi/ListTargetPortals"},
	} {
		m, err := policy.ParseMask(mask)
		if err != nil {
			t.Errorf("%s: %v", mask, err)
		}
		var got []string
		for _, path := range paths {
			if m.Match(path) {
				got = append(got, path)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", mask, d)
		}
	}
}

func TestNoMasks(t *testing.T) {
	for _, text := range []string{"", "/", "disk/", "/Disk/Rescan", "/v1.Disk", "/csiproxy.admin.v1alpha1.Admin/GetFacts",
		"disk/one/Rescan", "a/v1/b/c", "/v1.Disk/Rescan/x", "volume/Rescan", "Rescan", "disk/v9", "/v1.Disk/Nothing"} {
		if m, err := policy.ParseMask(text); err == nil {
			t.Errorf("%q: got %+v", text, m)
		}
	}
	if (policy.Mask{}).Match("/v1.Disk/Rescan") {
		t.Error("the zero mask selects something")
	}
}

func FuzzParseMask(f *testing.F) {
	for _, seed := range []string{"disk", "disk/v1/ListDiskIDs", "/v1.Disk/ListDiskIDs", "*", "//", "a/b/c/d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := policy.ParseMask(text)
		if strings.HasPrefix(text, "/") && (err == nil) != m.Match(text) {
			t.Errorf("%q is a path: got %v, and it selects itself: %v", text, err, m.Match(text))
		}
		if m.Match("/csiproxy.emulated.v1alpha1.EmulatedNode/RemoveFault") {
			t.Errorf("%q selects a method of the admin endpoint", text)
		}
	})
}
