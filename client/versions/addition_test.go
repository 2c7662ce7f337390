// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hub "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	v9 "github.com/kubernetes-csi/csi-proxy/client/versions/testdata/addition/disk/v9"
)

// withV9 returns the disk group with an unreleased version and rows for it, and the services to prove it with.
func withV9(t *testing.T, rows ...Route) (Group, map[string]protoreflect.ServiceDescriptor) {
	t.Helper()
	g, services := disk(), released(t)["disk"]
	g.Routes = append(slices.Clone(g.Routes), rows...)
	services["v9"] = v9.File_disk_v9_api_proto.Services().Get(0)
	return g, services
}

// TestAddingAVersion adds the version v9 as the package comment says: it takes two rows, and the proof names the fault
// of everything else.
func TestAddingAVersion(t *testing.T) {
	size := Route{"v9", "GetDiskSize", Same, "GetDiskStats", nil}
	state := Route{"v9", "SetAttachState", Mapped, "SetDiskState", setAttachState()}
	for _, test := range []struct {
		name string
		rows []Route
		want []string // parts of the proof's lines; none: it finds no fault
	}{
		{name: "its two rows", rows: []Route{size, state}},
		{name: "no rows", want: []string{
			"disk v9: no row for GetDiskSize in disk.go; by its messages it may be of v1.Disk: GetDiskStats (same bytes)",
			"disk v9: no row for SetAttachState in disk.go; no method of the hub v1.Disk has its bytes or its name: most " +
				"likely it is mapped, or alone",
		}},
		{name: "one row", rows: []Route{state}, want: []string{"disk v9: no row for GetDiskSize"}},
		{name: "two rows for one method", rows: []Route{size, size, state},
			want: []string{"disk v9 has no method GetDiskSize, or two rows for it"}},
		{name: "a row for no method", rows: []Route{size, state, {"v9", "Rescan", Same, "Rescan", nil}},
			want: []string{"disk v9 has no method Rescan"}},
		{name: "rows of a version without a proto", rows: []Route{size, state, {"v10", "Rescan", Same, "Rescan", nil}},
			want: []string{"disk v10 has rows and no proto"}},
		{name: "not the same bytes", rows: []Route{size, {"v9", "SetAttachState", Same, "SetDiskState", nil}},
			want: []string{"v9.Disk.SetAttachState is said to be same bytes with v1.Disk.SetDiskState, the descriptors " +
				"say mapped"}},
		{name: "mapped without a mapping", rows: []Route{size, {"v9", "SetAttachState", Mapped, "SetDiskState", nil}},
			want: []string{"v9.Disk.SetAttachState: a mapping belongs to what is mapped"}},
		{name: "the wrong mapping", rows: []Route{size, {"v9", "SetAttachState", Mapped, "SetDiskState", partitionDisk()}},
			want: []string{
				"v9.Disk.SetAttachState: the mapping takes v1beta2.PartitionDiskRequest, which is not v9.SetAttachStateRequest",
				"the mapping takes v1.PartitionDiskRequest, which is not v1.SetDiskStateRequest",
				"the mapping takes v1.PartitionDiskRequest for the hub's v1.SetDiskStateRequest",
				"the mapping takes v1.PartitionDiskResponse for the hub's v1.SetDiskStateResponse",
			}},
		{name: "mapped although it needs none",
			rows: []Route{{"v9", "GetDiskSize", Mapped, "GetDiskStats", newSize()}, state},
			want: []string{"v9.Disk.GetDiskSize is said to be mapped with v1.Disk.GetDiskStats, the descriptors say " +
				"same bytes"}},
		{name: "no such method of the hub", rows: []Route{{"v9", "GetDiskSize", Same, "GetDiskSize", nil}, state},
			want: []string{"v9.Disk.GetDiskSize: the hub has no method GetDiskSize"}},
		{name: "a mapping of its own", rows: []Route{size, {"v9", "SetAttachState", Mapped, "SetDiskState", newState()}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, services := withV9(t, test.rows...)
			_, problems := prove(g, services)
			for i := range max(len(problems), len(test.want)) {
				switch {
				case i >= len(problems):
					t.Errorf("the proof does not report %q", test.want[i])
				case i >= len(test.want):
					t.Errorf("the proof also reports %q", problems[i])
				case !strings.Contains(problems[i], test.want[i]):
					t.Errorf("got %q, want %q in it", problems[i], test.want[i])
				}
			}
		})
	}
}

// TestAddingAVersionCounts makes sure that the new version's methods are among those that were proved.
func TestAddingAVersionCounts(t *testing.T) {
	before, _ := prove(disk(), released(t)["disk"])
	g, services := withV9(t,
		Route{"v9", "GetDiskSize", Same, "GetDiskStats", nil},
		Route{"v9", "SetAttachState", Mapped, "SetDiskState", setAttachState()})
	after, _ := prove(g, services)
	if after.methods != before.methods+2 || after.kinds[Same] != before.kinds[Same]+1 ||
		after.kinds[Mapped] != before.kinds[Mapped]+1 {
		t.Errorf("got %v after %v, want one method of the same bytes more and one mapped", after, before)
	}
	if got := g.Versions(); !slices.Equal(got, []string{"v1alpha1", "v1beta1", "v1beta2", "v1beta3", "v9"}) {
		t.Errorf("got the versions %v", got)
	}
}

// newSize returns a mapping that is not needed.
func newSize() *Mapping {
	return between(
		func(o *v9.GetDiskSizeRequest, h *hub.GetDiskStatsRequest, c *conversion) {
			field(c, &o.DiskNumber, &h.DiskNumber)
		},
		func(o *v9.GetDiskSizeResponse, h *hub.GetDiskStatsResponse, c *conversion) {
			field(c, &o.TotalBytes, &h.TotalBytes)
		})
}

// newState returns setAttachState with the messages of v9 itself.
func newState() *Mapping {
	return between(
		func(o *v9.SetAttachStateRequest, h *hub.SetDiskStateRequest, c *conversion) {
			c.diskNumber("diskID", &o.DiskID, &h.DiskNumber)
			field(c, &o.IsOnline, &h.IsOnline)
		},
		func(*v9.SetAttachStateResponse, *hub.SetDiskStateResponse, *conversion) {})
}
