// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
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

	// needs are the steps that an older agent lacks: what needs which version of which group.
	needs := map[string]struct{ what, version, group string }{
		"ids of the disks":                 {"ListDiskIDs", "v1beta1", "disk"},
		"size of the disk":                 {"GetDiskStats", "v1beta1", "disk"},
		"size of a disk that is not there": {"GetDiskStats", "v1beta1", "disk"},
		"online":                           {"SetDiskState", "v1beta2", "disk"},
		"offline":                          {"SetDiskState", "v1beta2", "disk"},
		"state of the disk":                {"GetDiskState", "v1beta2", "disk"},
		"stats":                            {"GetVolumeStats", "v1beta1", "volume"},
		"nothing mounted":                  {"GetVolumeIDFromTargetPath", "v1beta1", "volume"},
		"volume at the mount point":        {"GetVolumeIDFromTargetPath", "v1beta1", "volume"},
		"disk of the volume":               {"GetDiskNumberFromVolumeID", "v1beta1", "volume"},
		"write cache":                      {"WriteVolumeCache", "v1beta2", "volume"},
		"volumes of one partition":         {"listing the volumes of one partition", "v1beta3", "volume"},
		"closest volume":                   {"GetClosestVolumeIDFromTargetPath", "v2alpha1", "volume"},
		"clear the directory":              {"RmdirContents", "v2alpha1", "filesystem"},
		"mutual secret":                    {"SetMutualChapSecret", "v1alpha2", "iscsi"},
	}
	at := apiversion.NewVersionOrPanic
	for name, serves := range map[string]map[string]string{ // by group, its newest version first
		"v1 only": {"filesystem": "v1", "volume": "v1"},
		"v1beta1 only": {"disk": "v1beta1", "filesystem": "v1beta1", "volume": "v1beta1", "smb": "v1beta1",
			"iscsi": "v1alpha1"},
		"a mix": {"disk": "v1beta2,v1alpha1", "filesystem": "v1beta2,v1alpha1", "volume": "v1beta3,v1beta2",
			"smb": "v1alpha1"},
		"the oldest": {"disk": "v1alpha1", "filesystem": "v1alpha1", "volume": "v1alpha1", "smb": "v1alpha1",
			"iscsi": "v1alpha1"},
	} {
		t.Run(name, func(t *testing.T) {
			var apis []string
			for group, versions := range serves {
				apis = append(apis, group+"="+versions)
			}
			got, versions := run(t, apis...)
			for group, all := range serves {
				if want, _, _ := strings.Cut(all, ","); versions[group] != want {
					t.Errorf("%s is spoken in %q, want %q", group, versions[group], want)
				}
			}
			want := maps.Clone(newest)
			for step, n := range needs {
				if spoken := versions[n.group]; at(spoken).Compare(at(n.version)) < 0 {
					want[step] = fmt.Sprintf("unsupported: %s needs version %s of the %s API; the agent's newest is %s",
						n.what, n.version, n.group, spoken)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}
