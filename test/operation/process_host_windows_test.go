// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"strconv"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	kernel "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestEveryCallOnThisMachine makes each of the calls of all versions once, to an agent that works on the machine
// itself, and compares its result with the known result on Wine. It also fails when Wine has changed: then remove the
// row from answersOnWine, or enter the new result.
func TestEveryCallOnThisMachine(t *testing.T) {
	if !testnode.OnWine() {
		t.Skip("require Wine: on Windows the lives of test/conformance are lived on the machine")
	}
	testnode.Launch(t, "-v=4")
	volume, err := kernel.New().VolumeNameForMountPoint(`C:\`)
	caller.OK(t, err)
	control, err := adminclient.Dial(t.Context(), "")
	caller.OK(t, err)
	defer func() { _ = control.Close() }()
	served, err := control.ListAPIs(t.Context(), &admin.ListAPIsRequest{})
	if err != nil || len(served.GetApis()) != len(testnode.Released(t)) {
		t.Fatalf("the agent serves %v, %v", served.GetApis(), err)
	}
	want := answersOnWine()
	used := map[string]bool{}
	for _, api := range served.GetApis() {
		conn, err := dial.Open(t.Context(), api.GetEndpoint(), dial.Options{})
		caller.OK(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		methods := caller.Service(t, api.GetGroup(), api.GetVersion()).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			prepareMachine(t)
			got := outcome(t, conn, m, volume)
			t.Logf("ended: %s %s %s: %s", api.GetGroup(), api.GetVersion(), m.Name(), got)
			name := api.GetGroup() + " " + string(m.Name())
			if _, ok := want[name+" "+api.GetVersion()]; ok {
				name += " " + api.GetVersion()
			}
			used[name] = true
			expected, listed := want[name]
			if !listed {
				expected = "OK"
			}
			if got != expected {
				t.Errorf("%s %s: Wine gives %s, want %s", name, api.GetVersion(), got, expected)
			}
		}
	}
	for name := range want {
		if !used[name] {
			t.Errorf("no method is called %s", name)
		}
	}
	// After all that, the agent still serves.
	if _, err := control.ListAPIs(t.Context(), &admin.ListAPIsRequest{}); err != nil {
		t.Error(err)
	}
}

// outcome makes a call and returns how it ended: OK, or the code and the Windows function with its error.
func outcome(t *testing.T, conn *grpc.ClientConn, m protoreflect.MethodDescriptor, volume string) string {
	t.Helper()
	response := dynamicpb.NewMessage(m.Output())
	path := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	err := conn.Invoke(t.Context(), path, sensible(t, m.Input(), volume), response)
	if err == nil {
		if f := m.Output().Fields().ByName("error"); f != nil && response.Has(f) {
			return "error in the answer"
		}
		return "OK"
	}
	s := status.Convert(err)
	text := s.Code().String()
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			if function := info.GetMetadata()["function"]; function != "" {
				text += " " + function
			}
			if code, err := strconv.ParseUint(info.GetMetadata()["win32"], 10, 32); err == nil {
				text += " " + win32.Errno(code).Name()
			}
		}
	}
	if s.Code() == codes.Unknown || s.Message() == "" {
		t.Errorf("%s: %v does not say what to do", path, err)
	}
	t.Logf("%s: %s (%s)", path, text, s.Message())
	return text
}
