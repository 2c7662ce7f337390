// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Arguments set the fields of their names. Fields that are set already stay.
func TestArgumentsSetFields(t *testing.T) {
	portal := &csiproxy.TargetPortal{TargetAddress: "2001:db8::1", TargetPort: 3261}
	for _, test := range []struct {
		request, want proto.Message
		takes         string
		args          []string
	}{
		{&csiproxy.RescanRequest{}, &csiproxy.RescanRequest{}, "", nil},
		{&csiproxy.SetDiskStateRequest{IsOnline: true}, &csiproxy.SetDiskStateRequest{DiskNumber: 7, IsOnline: true},
			"DISK", []string{"7"}},
		{&csiproxy.MountVolumeRequest{}, &csiproxy.MountVolumeRequest{VolumeId: "v", TargetPath: "p"},
			"VOLUME PATH", []string{"v", "p"}},
		{&csiproxy.ConnectTargetRequest{ChapUsername: "u"},
			&csiproxy.ConnectTargetRequest{TargetPortal: portal, Iqn: "iqn.x", ChapUsername: "u"},
			"PORTAL TARGET", []string{"[2001:db8::1]:3261", "iqn.x"}},
		{&nodeapi.SetISCSIPortalStateRequest{Connected: true},
			&nodeapi.SetISCSIPortalStateRequest{Address: "2001:db8::1", Port: 3261, Connected: true},
			"PORTAL", []string{"[2001:db8::1]:3261"}},
		{&nodeapi.RemoveFaultRequest{}, &nodeapi.RemoveFaultRequest{Id: 1 << 40}, "ID", []string{"1099511627776"}},
	} {
		err := set(test.request, test.takes, test.args)
		if err != nil || !proto.Equal(test.request, test.want) {
			t.Errorf("%q: got %s, %v, want %s", test.args, prototext.Format(test.request), err, prototext.Format(test.want))
		}
	}
	if set(&nodeapi.RemoveFaultRequest{}, "ID", []string{"x"}) == nil {
		t.Error("a fault's id that is not a number is accepted")
	}
}

func set(request proto.Message, takes string, args []string) error {
	var fields []protoreflect.FieldDescriptor
	for name := range strings.FieldsSeq(takes) {
		fields = append(fields, fieldOf(request, argument{name: name, kind: kinds()[name]}))
	}
	return setFields(request, fields, args)
}
