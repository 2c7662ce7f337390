// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// run takes a volume through its life on a fresh node whose agent serves what the values of -api leave.
func run(t *testing.T, apis ...string) (outcomes map[string]string, versions map[string]string) {
	t.Helper()
	p := newAgentHome(t)
	p.start(apis...)
	c := p.client(csiproxy.Options{})
	versions, err := c.Connect(t.Context())
	caller.OK(t, err)
	outcomes = map[string]string{}
	l := &life{Calls: caller.By(t, c), client: c}
	for _, s := range lifeSteps() {
		outcomes[s.name] = s.outcome(l)
	}
	return outcomes, versions
}

// TestOldAgents: a driver that is written for the newest versions gets the same results from every agent, or is told
// which version it would need.
func TestOldAgents(t *testing.T) {
	newest, versions := run(t)
	if diff := cmp.Diff(map[string]string{
		"disk": "v1", "filesystem": "v2alpha1", "iscsi": "v1alpha2", "nodesteps": "v1alpha1", "smb": "v1",
		"system": "v1alpha1", "volume": "v2alpha1",
	}, versions); diff != "" {
		t.Errorf("versions found (-want +got):\n%s", diff)
	}
	if newest["unmount"] != "OK" || newest["nothing mounted"] != "NotFound NOT_MOUNTED" {
		t.Fatalf("the life itself fails on the newest agent: %q", newest)
	}

	const (
		closest = "unsupported: GetClosestVolumeIDFromTargetPath needs version v2alpha1 of the volume API; the agent's " +
			"newest is "
		contents = "unsupported: RmdirContents needs version v2alpha1 of the filesystem API; the agent's newest is "
		one      = "unsupported: listing the volumes of one partition needs version v1beta3 of the volume API; the agent's " +
			"newest is "
		state  = " needs version v1beta2 of the disk API; the agent's newest is "
		mutual = "unsupported: SetMutualChapSecret needs version v1alpha2 of the iscsi API; the agent's newest is "
	)
	tests := []struct {
		name     string
		apis     []string
		versions map[string]string // the versions that are asked for
		differs  map[string]string // outcomes by step; all others are those of the newest agent
	}{
		{
			"v1 only", []string{"filesystem=v1", "volume=v1"},
			map[string]string{"filesystem": "v1", "volume": "v1"},
			map[string]string{"closest volume": closest + "v1", "clear the directory": contents + "v1"},
		},
		{
			"v1beta1 only", []string{"disk=v1beta1", "filesystem=v1beta1", "volume=v1beta1", "smb=v1beta1", "iscsi=v1alpha1"},
			map[string]string{"disk": "v1beta1", "filesystem": "v1beta1", "volume": "v1beta1",
				"smb": "v1beta1", "iscsi": "v1alpha1"},
			map[string]string{
				"closest volume": closest + "v1beta1", "clear the directory": contents + "v1beta1",
				"volumes of one partition": one + "v1beta1",
				"online":                   "unsupported: SetDiskState" + state + "v1beta1",
				"offline":                  "unsupported: SetDiskState" + state + "v1beta1",
				"state of the disk":        "unsupported: GetDiskState" + state + "v1beta1",
				"write cache": "unsupported: WriteVolumeCache needs version v1beta2 of the volume API; the agent's newest " +
					"is v1beta1",
				"mutual secret": mutual + "v1alpha1",
			},
		},
		{
			"a mix", []string{"disk=v1beta2,v1alpha1", "filesystem=v1alpha1,v1beta2", "volume=v1beta3,v1beta2", "smb=v1alpha1"},
			map[string]string{"disk": "v1beta2", "filesystem": "v1beta2", "volume": "v1beta3", "smb": "v1alpha1"},
			map[string]string{"closest volume": closest + "v1beta3", "clear the directory": contents + "v1beta2"},
		},
		{
			"the oldest", []string{"disk=v1alpha1", "filesystem=v1alpha1", "volume=v1alpha1", "smb=v1alpha1", "iscsi=v1alpha1"},
			map[string]string{"disk": "v1alpha1", "filesystem": "v1alpha1", "volume": "v1alpha1",
				"smb": "v1alpha1", "iscsi": "v1alpha1"},
			map[string]string{
				"closest volume": closest + "v1alpha1", "clear the directory": contents + "v1alpha1",
				"volumes of one partition": one + "v1alpha1",
				"online":                   "unsupported: SetDiskState" + state + "v1alpha1",
				"offline":                  "unsupported: SetDiskState" + state + "v1alpha1",
				"state of the disk":        "unsupported: GetDiskState" + state + "v1alpha1",
				"ids of the disks": "unsupported: ListDiskIDs needs version v1beta1 of the disk API; the agent's " +
					"newest is v1alpha1",
				"size of the disk": "unsupported: GetDiskStats needs version v1beta1 of the disk API; the " +
					"agent's newest is v1alpha1",
				"size of a disk that is not there": "unsupported: GetDiskStats needs version v1beta1 of the disk API; the " +
					"agent's newest is v1alpha1",
				"write cache": "unsupported: WriteVolumeCache needs version v1beta2 of the volume API; the " +
					"agent's newest is v1alpha1",
				"stats": "unsupported: GetVolumeStats needs version v1beta1 of the volume API; the " +
					"agent's newest is v1alpha1",
				"nothing mounted": "unsupported: GetVolumeIDFromTargetPath needs version v1beta1 of the volume " +
					"API; the agent's newest is v1alpha1",
				"volume at the mount point": "unsupported: GetVolumeIDFromTargetPath needs version v1beta1 of the volume " +
					"API; the agent's newest is v1alpha1",
				"disk of the volume": "unsupported: GetDiskNumberFromVolumeID needs version v1beta1 of the volume " +
					"API; the agent's newest is v1alpha1",
				"mutual secret": mutual + "v1alpha1",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, versions := run(t, tt.apis...)
			for group, want := range tt.versions {
				if versions[group] != want {
					t.Errorf("%s is spoken in %q, want %q", group, versions[group], want)
				}
			}
			want := maps.Clone(newest)
			maps.Copy(want, tt.differs)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}
