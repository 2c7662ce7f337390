// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// fake is a driver's own machine for its tests.
type fake struct{ calls []string }

func (f *fake) called(name string, p *hostapi.TargetPortal, args ...any) error {
	if p != nil {
		args = append([]any{p.Address, p.Port}, args...)
	}
	f.calls = append(f.calls, name+fmt.Sprint(args))
	return nil
}

func (f *fake) AddTargetPortal(p *hostapi.TargetPortal) error { return f.called("Add", p) }

func (f *fake) DiscoverTargetPortal(p *hostapi.TargetPortal) ([]string, error) {
	return []string{"iqn.a", "iqn.b"}, f.called("Discover", p)
}

func (f *fake) ListTargetPortals() ([]hostapi.TargetPortal, error) {
	return []hostapi.TargetPortal{{Address: "192.0.2.1", Port: 3260}, {Address: "192.0.2.2", Port: 1}},
		f.called("List", nil)
}

func (f *fake) RemoveTargetPortal(p *hostapi.TargetPortal) error { return f.called("Remove", p) }

func (f *fake) ConnectTarget(p *hostapi.TargetPortal, iqn string, authType string, chapUser string,
	chapSecret string) error {
	return f.called("Connect", p, iqn, authType, chapUser, chapSecret)
}

func (f *fake) DisconnectTarget(p *hostapi.TargetPortal, iqn string) error {
	return f.called("Disconnect", p, iqn)
}

func (f *fake) GetTargetDisks(p *hostapi.TargetPortal, iqn string) ([]string, error) {
	return []string{"3"}, f.called("Disks", p, iqn)
}

func (f *fake) SetMutualChapSecret(secret string) error { return f.called("Secret", nil, secret) }

func newISCSI(t *testing.T, f *fake) *iscsi.ISCSI {
	t.Helper()
	i, err := iscsi.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestFakeIsCalled: the driver's HostAPI receives the driver's calls, and its answers arrive.
func TestFakeIsCalled(t *testing.T) {
	f := &fake{}
	i, ctx := newISCSI(t, f), t.Context()
	portal, plain := &iscsi.TargetPortal{TargetAddress: "192.0.2.1", TargetPort: 860},
		&iscsi.TargetPortal{TargetAddress: "192.0.2.1"}
	var got []any
	note := func(response any, err error) { got = append(got, response, err) }
	note(i.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: plain}))
	note(i.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal}))
	note(i.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{}))
	note(i.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: "iqn.a", AuthType: iscsi.ONE_WAY_CHAP,
		ChapUsername: "user", ChapSecret: "secret"}))
	note(i.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: "iqn.a"}))
	note(i.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: "iqn.a"}))
	note(i.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: portal}))
	note(i.SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "mutual"}))
	if diff := cmp.Diff(got, []any{
		&iscsi.AddTargetPortalResponse{}, nil,
		&iscsi.DiscoverTargetPortalResponse{IQNs: []string{"iqn.a", "iqn.b"}}, nil,
		&iscsi.ListTargetPortalsResponse{TargetPortals: []*iscsi.TargetPortal{{TargetAddress: "192.0.2.1", TargetPort: 3260},
			{TargetAddress: "192.0.2.2", TargetPort: 1}}}, nil,
		&iscsi.ConnectTargetResponse{}, nil,
		&iscsi.GetTargetDisksResponse{DiskIDs: []string{"3"}}, nil,
		&iscsi.DisconnectTargetResponse{}, nil,
		&iscsi.RemoveTargetPortalResponse{}, nil,
		&iscsi.SetMutualChapSecretResponse{}, nil,
	}); diff != "" {
		t.Errorf("answers (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(f.calls, []string{
		"Add[192.0.2.1 3260]", "Discover[192.0.2.1 860]", "List[]", "Connect[192.0.2.1 860 iqn.a ONEWAYCHAP user secret]",
		"Disks[192.0.2.1 860 iqn.a]", "Disconnect[192.0.2.1 860 iqn.a]", "Remove[192.0.2.1 860]", "Secret[mutual]",
	}); diff != "" {
		t.Errorf("calls (-got +want):\n%s", diff)
	}
}

// TestMissingPortal: a request without a portal is refused, and the driver's process survives.
func TestMissingPortal(t *testing.T) {
	f := &fake{}
	i, ctx := newISCSI(t, f), t.Context()
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
	if len(f.calls) > 0 {
		t.Errorf("the machine was asked %q", f.calls)
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

func TestNewNeedsAHostAPI(t *testing.T) {
	if _, err := iscsi.New(nil); err == nil {
		t.Error("iscsi.New(nil) succeeds")
	}
}
