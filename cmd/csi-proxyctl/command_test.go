// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Arguments set the fields in the order of their declaration. Fields that are set already stay.
func TestArgumentsSetFields(t *testing.T) {
	portal := &csiproxy.TargetPortal{TargetAddress: "2001:db8::1", TargetPort: 3261}
	for _, test := range []struct {
		request, want proto.Message
		args          []string
	}{
		{&csiproxy.RescanRequest{}, &csiproxy.RescanRequest{}, nil},
		{&csiproxy.SetDiskStateRequest{IsOnline: true}, &csiproxy.SetDiskStateRequest{DiskNumber: 7, IsOnline: true},
			[]string{"7"}},
		{&csiproxy.MountVolumeRequest{}, &csiproxy.MountVolumeRequest{VolumeId: "v", TargetPath: "p"}, []string{"v", "p"}},
		{&csiproxy.ConnectTargetRequest{ChapUsername: "u"},
			&csiproxy.ConnectTargetRequest{TargetPortal: portal, Iqn: "iqn.x", ChapUsername: "u"},
			[]string{"[2001:db8::1]:3261", "iqn.x"}},
		{&nodeapi.SetISCSIPortalStateRequest{Connected: true},
			&nodeapi.SetISCSIPortalStateRequest{Address: "2001:db8::1", Port: 3261, Connected: true},
			[]string{"[2001:db8::1]:3261"}},
		{&nodeapi.RemoveFaultRequest{}, &nodeapi.RemoveFaultRequest{Id: 1 << 40}, []string{"1099511627776"}},
	} {
		if err := setFields(test.request, test.args); err != nil || !proto.Equal(test.request, test.want) {
			t.Errorf("%q: got %s, %v, want %s", test.args, prototext.Format(test.request), err, prototext.Format(test.want))
		}
	}
	if err := setFields(&nodeapi.RemoveFaultRequest{}, []string{"x"}); err == nil {
		t.Error("a fault's id that is not a number is accepted")
	}
}
