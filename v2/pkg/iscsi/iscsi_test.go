// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// fake is a driver's own machine for its tests. A call of another method would end the test.
type fake struct {
	hostapi.HostAPI
	portal hostapi.TargetPortal // that was added
}

func (f *fake) AddTargetPortal(p *hostapi.TargetPortal) error { f.portal = *p; return nil }

func newISCSI(t *testing.T, f *fake) *iscsi.ISCSI {
	t.Helper()
	i, err := iscsi.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestDefaultPort: a HostAPI gets the port of a portal without one.
func TestDefaultPort(t *testing.T) {
	f := &fake{}
	for port, want := range map[uint32]uint32{0: 3260, 860: 860} {
		_, err := newISCSI(t, f).AddTargetPortal(t.Context(), &iscsi.AddTargetPortalRequest{
			TargetPortal: &iscsi.TargetPortal{TargetAddress: "192.0.2.1", TargetPort: port}})
		if err != nil || f.portal != (hostapi.TargetPortal{Address: "192.0.2.1", Port: want}) {
			t.Errorf("port %d becomes %+v, %v", port, f.portal, err)
		}
	}
}

// TestMissingPortal: a request without a portal is refused, and the driver's process survives.
func TestMissingPortal(t *testing.T) {
	i, ctx := newISCSI(t, &fake{}), t.Context()
	for name, call := range map[string]func() (any, error){
		"AddTargetPortal": func() (any, error) { return i.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{}) },
		"DiscoverTargetPortal": func() (any,
			error) {
			return i.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{})
		},
		"ConnectTarget":      func() (any, error) { return i.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{}) },
		"GetTargetDisks":     func() (any, error) { return i.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{}) },
		"DisconnectTarget":   func() (any, error) { return i.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{}) },
		"RemoveTargetPortal": func() (any, error) { return i.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{}) },
	} {
		if _, err := call(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s without a portal: %v, want InvalidArgument", name, err)
		}
	}
}

func TestAuthTypeToString(t *testing.T) {
	for kind, want := range map[iscsi.AuthenticationType]string{
		iscsi.NONE: "NONE", iscsi.ONE_WAY_CHAP: "ONEWAYCHAP", iscsi.MUTUAL_CHAP: "MUTUALCHAP", 3: "",
	} {
		if got, err := iscsi.AuthTypeToString(kind); got != want || (err == nil) != (want != "") {
			t.Errorf("AuthTypeToString(%d) = %q, %v, want %q", kind, got, err, want)
		}
	}
}
