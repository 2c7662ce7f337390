// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestISCSIOnThisMachine lives the life of iSCSI targets with the Windows kernel on the fake initiator, once for each
// version of the API, and checks after each call what the initiator knows. v1alpha1 meets an initiator whose lists
// answer as documented, v1alpha2 one that answers as Windows was seen to.
func TestISCSIOnThisMachine(t *testing.T) {
	initiator := fakeInitiator(t)
	testnode.Launch(t, "-v=2")
	for _, run := range []struct{ version, sizes string }{{"v1alpha1", ""}, {"v1alpha2", "sizes observed"}} {
		t.Run(run.version, func(t *testing.T) {
			version := run.version
			initiator.remove("calls.txt")
			conn, err := dial.Open(t.Context(), `\\.\pipe\csi-proxy-iscsi-`+version, dial.Options{})
			caller.OK(t, err)
			defer func() { _ = conn.Close() }()
			l := &iscsiLife{t: t, conn: conn, version: version, initiator: &initiatorAt{initiator, run.sizes}}
			l.portals()
			l.discovery()
			l.sessions()
			l.authentication()
			l.disks()
			l.failures()
			if t.Failed() {
				return
			}
			for _, method := range []string{
				"AddTargetPortal", "ConnectTarget", "DisconnectTarget", "DiscoverTargetPortal",
				"GetTargetDisks", "ListTargetPortals",
				"RemoveTargetPortal", "SetMutualChapSecret",
			} {
				if l.used[method] {
					t.Logf("faked: iscsi %s %s: OK, fake initiator", version, method)
				}
			}
		})
	}
}

// initiatorAt is the initiator with the lines that all worlds of a version begin with.
type initiatorAt struct {
	*initiator
	always string
}

func (i *initiatorAt) world(lines ...string) {
	i.initiator.world(append([]string{i.always}, lines...)...)
}

// An iscsiLife makes the calls of one version. All versions of a message have the same bytes.
type iscsiLife struct {
	t         *testing.T
	conn      *grpc.ClientConn
	version   string
	initiator *initiatorAt
	used      map[string]bool // methods that ended well
}

// call makes a call that must end with a code.
func (l *iscsiLife) call(want codes.Code, method string, request, response proto.Message) {
	l.t.Helper()
	err := l.conn.Invoke(l.t.Context(), fmt.Sprintf("/%s.Iscsi/%s", l.version, method), request, response)
	if got := status.Code(err); got != want {
		l.t.Fatalf("%s(%v): got %v (%v), want %v", method, request, got, err, want)
	}
	if err == nil {
		if l.used == nil {
			l.used = map[string]bool{}
		}
		l.used[method] = true
	}
}

func at(address string) *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: address, TargetPort: 3260}
}

// The network: two portals of one array, and its targets.
const (
	portalA = "192.0.2.10"
	portalB = "192.0.2.11"
	plain   = "iqn.2026-01.invalid:a-plain-target-with-a-name-that-is-as-long-as-those-that-arrays-make-up-from-serial-numbers"
	chap    = "iqn.2026-01.invalid:one-that-wants-chap-and-also-has-a-name-that-takes-its-place-in-a-list-of-characters"
	mutual  = "iqn.2026-01.invalid:one-that-proves-itself-too-so-that-three-names-do-not-fit-the-first-buffer-of-the-agent"
)

func network(more ...string) []string {
	lines := []string{
		"portal " + portalA + " 3260", "portal " + portalB + " 3260",
		"target " + plain + " " + portalA + " 3260", "target " + plain + " " + portalB + " 3260",
		"target " + chap + " " + portalA + " 3260", "target " + mutual + " " + portalA + " 3260",
		"chap " + chap + " the-user " + targetSecret, "chap " + mutual + " the-user " + targetSecret,
		"mutual " + mutual + " " + mutualSecret,
	}
	return append(lines, more...)
}

func (l *iscsiLife) wantPortals(want ...string) {
	l.t.Helper()
	var response iscsi.ListTargetPortalsResponse
	l.call(codes.OK, "ListTargetPortals", &iscsi.ListTargetPortalsRequest{}, &response)
	got := []string{}
	for _, p := range response.GetTargetPortals() {
		got = append(got, fmt.Sprintf("%s %d", p.GetTargetAddress(), p.GetTargetPort()))
	}
	if !slices.Equal(got, want) {
		l.t.Fatalf("the portals are %q, want %q", got, want)
	}
}

func (l *iscsiLife) portals() {
	t, add := l.t, func(want codes.Code, address string) {
		l.t.Helper()
		l.call(want, "AddTargetPortal", &iscsi.AddTargetPortalRequest{TargetPortal: at(address)},
			&iscsi.AddTargetPortalResponse{})
	}
	l.initiator.world(network()...)
	l.wantPortals()
	add(codes.OK, portalB)
	add(codes.OK, portalB) // again
	add(codes.OK, portalA)
	l.wantPortals(portalA+" 3260", portalB+" 3260")
	if added := l.initiator.calls("AddIScsiSendTargetPortalW " + portalB + " "); len(added) != 1 {
		t.Errorf("a portal that was registered was added again: %q", added)
	}

	// Nothing answers there. Windows keeps such a portal; the agent does not.
	add(codes.Unavailable, "192.0.2.99")
	l.wantPortals(portalA+" 3260", portalB+" 3260")

	// More than fit a first buffer, registered by another program.
	for n := range 7 {
		l.initiator.world(network(fmt.Sprintf("registered 192.0.2.2%d 3260", n))...)
		l.call(codes.OK, "ListTargetPortals", &iscsi.ListTargetPortalsRequest{}, &iscsi.ListTargetPortalsResponse{})
	}
	l.initiator.world(network("after ReportIScsiSendTargetPortalsW registered 192.0.2.27 3260")...)
	l.call(codes.OK, "ListTargetPortals", &iscsi.ListTargetPortalsRequest{}, &iscsi.ListTargetPortalsResponse{})
	l.wantPortals(portalA+" 3260", portalB+" 3260", "192.0.2.20 3260", "192.0.2.21 3260",
		"192.0.2.22 3260", "192.0.2.23 3260",
		"192.0.2.24 3260", "192.0.2.25 3260", "192.0.2.26 3260", "192.0.2.27 3260")

	remove := func(address string) {
		l.t.Helper()
		l.call(codes.OK, "RemoveTargetPortal", &iscsi.RemoveTargetPortalRequest{TargetPortal: at(address)},
			&iscsi.RemoveTargetPortalResponse{})
	}
	for n := range 8 {
		remove(fmt.Sprintf("192.0.2.2%d", n))
	}
	remove("192.0.2.20") // again
	l.wantPortals(portalA+" 3260", portalB+" 3260")
}

func (l *iscsiLife) wantTargets(address string, want ...string) {
	l.t.Helper()
	var response iscsi.DiscoverTargetPortalResponse
	l.call(codes.OK, "DiscoverTargetPortal", &iscsi.DiscoverTargetPortalRequest{TargetPortal: at(address)}, &response)
	slices.Sort(want)
	if got := response.GetIqns(); !slices.Equal(got, want) {
		l.t.Fatalf("at %s are the targets %q, want %q", address, got, want)
	}
}

func (l *iscsiLife) discovery() {
	const late = "iqn.2026-01.invalid:late"
	l.initiator.world(network()...)
	l.connect(codes.OK, plain, &iscsi.ConnectTargetRequest{}) // registering the portals was a discovery
	l.disconnect(plain)
	l.wantTargets(portalA, plain, chap, mutual)
	l.wantTargets(portalB, plain)
	l.initiator.world(network("target " + late + " " + portalB + " 3260")...)
	l.wantTargets(portalB, plain, late)
	l.initiator.world(network()...)
	l.wantTargets(portalB, plain)
	l.call(codes.NotFound, "DiscoverTargetPortal", &iscsi.DiscoverTargetPortalRequest{TargetPortal: at("192.0.2.99")},
		&iscsi.DiscoverTargetPortalResponse{})
	l.initiator.world() // the array is off
	l.call(codes.Unavailable, "DiscoverTargetPortal", &iscsi.DiscoverTargetPortalRequest{TargetPortal: at(portalB)},
		&iscsi.DiscoverTargetPortalResponse{})
	l.initiator.world(network()...)
}
