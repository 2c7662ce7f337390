// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	kubeletDir = `C:\var\lib\kubelet`
	target     = kubeletDir + `\pods\target`
)

// prepareMachine makes the directories that the requests name, before each call.
func prepareMachine(t *testing.T) {
	t.Helper()
	for _, dir := range []string{kubeletDir + `\plugins`, kubeletDir + `\pods`} {
		caller.OK(t, os.RemoveAll(dir))
		caller.OK(t, os.MkdirAll(dir, 0o750))
	}
	caller.OK(t, os.Mkdir(target, 0o750))
}

// sensible returns a request that a driver could make, its fields filled by their names: about disk 0, the volume of
// drive C and a directory below kubelet's.
func sensible(t *testing.T, message protoreflect.MessageDescriptor, volumeID string) proto.Message {
	t.Helper()
	texts := map[string]string{
		"path": target, "target_path": target, "mount": target, "source_path": kubeletDir + `\plugins`,
		"volume_id": volumeID, "disk_id": "0", "diskID": "0", "disk_number": "0", "disk_name": "1",
		"remote_path": `\\server.invalid\share`, "local_path": kubeletDir + `\plugins\share`,
		"username": `DOMAIN\user`, "password": "hush",
		"iqn": "iqn.2026-01.invalid:target", "target_address": "192.0.2.10",
		"name": "Spooler", "MutualChapSecret": "hush-hush-hush",
	}
	if name := message.Name(); name == "CreateSymlinkRequest" || name == "LinkPathRequest" {
		texts["target_path"] = kubeletDir + `\pods\link` // is made by the call
	}
	r := dynamicpb.NewMessage(message)
	for i := range message.Fields().Len() {
		f := message.Fields().Get(i)
		if f.ContainingOneof() != nil && !f.HasOptionalKeyword() { // of several, the number of a disk
			if f.Name() == "disk_number" {
				r.Set(f, protoreflect.ValueOfUint32(0))
			}
			continue
		}
		switch f.Kind() {
		case protoreflect.StringKind:
			text, ok := texts[string(f.Name())]
			if ok {
				r.Set(f, protoreflect.ValueOfString(text))
			}
		case protoreflect.MessageKind:
			if !f.IsMap() && !f.IsList() {
				r.Set(f, protoreflect.ValueOfMessage(sensible(t, f.Message(), volumeID).ProtoReflect()))
			}
		case protoreflect.Uint32Kind:
			if f.Name() == "target_port" {
				r.Set(f, protoreflect.ValueOfUint32(3260))
			}
		default: // zero: disk 0, size 0, no force
		}
	}
	return r
}
