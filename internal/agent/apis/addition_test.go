// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/klog/v2/textlogger"

	hub "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	v9 "github.com/kubernetes-csi/csi-proxy/client/versions/testdata/addition/disk/v9"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
)

//go:generate env -C ../../../client/versions/testdata/addition ../../../../hack/buf.sh generate

// TestAddedVersionIsServed serves the version v9 of client/versions/testdata/addition: the agent needs nothing but its
// rows.
func TestAddedVersionIsServed(t *testing.T) {
	var got hub.SetDiskStateRequest
	methods := []server.Method{
		server.Unary("GetDiskStats", node.LimitRead,
			func(_ context.Context, r *hub.GetDiskStatsRequest) (*hub.GetDiskStatsResponse, error) {
				return &hub.GetDiskStatsResponse{TotalBytes: int64(r.GetDiskNumber()) << 30}, nil
			}),
		server.Unary("SetDiskState", node.LimitLong,
			func(_ context.Context, r *hub.SetDiskStateRequest) (*hub.SetDiskStateResponse, error) {
				got.DiskNumber, got.IsOnline = r.GetDiskNumber(), r.GetIsOnline()
				return &hub.SetDiskStateResponse{}, nil
			}),
	}
	g := diskGroup(t)
	g.Routes = append(slices.Clone(g.Routes),
		versions.Route{In: "v9", Method: "GetDiskSize", Kind: versions.Same, Hub: "GetDiskStats"},
		versions.Route{In: "v9", Method: "SetAttachState", Kind: versions.Mapped, Hub: "SetDiskState",
			Mapping: mappingOf(t, g, "v1beta2", "SetAttachState")})

	var log bytes.Buffer
	conn := local.New([]server.Endpoint{endpoint(g, "v9", routed(g.Of("v9"), methods))}, server.Options{
		Logger: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log), textlogger.Verbosity(2)))})
	client := v9.NewDiskClient(conn)
	size, err := client.GetDiskSize(t.Context(), &v9.GetDiskSizeRequest{DiskNumber: 5})
	if err != nil || size.GetTotalBytes() != 5<<30 {
		t.Errorf("GetDiskSize: got %v, %v, want %d bytes", size, err, int64(5<<30))
	}
	if _, err := client.SetAttachState(t.Context(), &v9.SetAttachStateRequest{DiskID: "7", IsOnline: true}); err != nil {
		t.Errorf("SetAttachState: %v", err)
	}
	if diff := cmp.Diff(&got, &hub.SetDiskStateRequest{DiskNumber: 7, IsOnline: true}, protocmp.Transform()); diff != "" {
		t.Errorf("the hub's requests (-got +want):\n%s", diff)
	}
	_, err = client.SetAttachState(t.Context(), &v9.SetAttachStateRequest{DiskID: "seven"})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), `diskID "seven"`) {
		t.Errorf("SetAttachState without a number: got %v, want InvalidArgument that names the field", err)
	}
	if _, err := hub.NewDiskClient(conn).GetDiskStats(t.Context(), &hub.GetDiskStatsRequest{}); status.Code(
		err) != codes.Unimplemented {
		t.Errorf("the hub's own method: got %v, want Unimplemented at the endpoint of v9", err)
	}
	if !strings.Contains(log.String(), `method="/v9.Disk/GetDiskSize"`) {
		t.Errorf("the log does not have the method that was called:\n%s", &log)
	}
}

func diskGroup(t *testing.T) versions.Group {
	t.Helper()
	groups := versions.Groups()
	return groups[slices.IndexFunc(groups, func(g versions.Group) bool { return g.Name == "disk" })]
}

// mappingOf returns the mapping of a released method, which serves every version with the same messages.
func mappingOf(t *testing.T, g versions.Group, version, method string) *versions.Mapping {
	t.Helper()
	routes := g.Of(version)
	return routes[slices.IndexFunc(routes, func(r versions.Route) bool { return r.Method == method })].Mapping
}
