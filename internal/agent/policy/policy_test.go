// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

func parse(t *testing.T, rules string) *Policy {
	t.Helper()
	p, err := Parse("file", []byte(head+"rules:\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClientIdentity(t *testing.T) {
	user := 1000
	system := transport.Identity{SID: "S-1-5-18", Elevated: true, Container: transport.NoContainer}
	on := func(image, container string) transport.Peer {
		return transport.Peer{PID: 1, Image: image,
			Identity: transport.Identity{SID: "S-1-5-18", Elevated: true, Container: container}}
	}
	for _, test := range []struct {
		client string
		peer   transport.Peer
		want   bool
	}{
		{"any: true", transport.Peer{}, true},
		{"uid: 1000", transport.Peer{UID: &user}, true},
		{"uid: 0", transport.Peer{UID: &user}, false},
		{"uid: 0", transport.Peer{}, false}, // unknown is not root
		{"sid: S-1-5-18", transport.Peer{Identity: system}, true},
		{"sid: S-1-5-18", transport.Peer{}, false},
		{"sid: S-1-5-1", transport.Peer{Identity: system}, false},
		{"elevated: true", transport.Peer{Identity: system}, true},
		{"elevated: false", transport.Peer{Identity: system}, false},
		{"elevated: false", transport.Peer{PID: 1}, false}, // a token that was not read
		{"uid: 1000, sid: S-1-5-18", transport.Peer{UID: &user}, false},

		// Programs.
		{`image: C:\d\driver.exe`, on(`C:\d\driver.exe`, "none"), true},
		{`image: C:\d\driver.exe`, on(`c:\D\DRIVER.EXE`, "none"), true},
		{`image: C:\d\driver.exe`, on(`C:\d\driver.exe.`, "none"), false},
		{`image: C:\d\driver.exe`, on(`C:\d\driver.exe `, "none"), false},
		{`image: C:\d\driver.exe`, on(`C:\d\x\..\driver.exe`, "none"), false},
		{`image: C:\d\driver.exe`, on(`C:\d\DRIVER~1.EXE`, "none"), false},
		{`image: C:\d\driver.exe`, on(`D:\d\driver.exe`, "none"), false},
		{`image: C:\d\driver.exe`, on(`\d\driver.exe`, "none"), false},
		{`image: C:\d\driver.exe`, on(`\Device\HarddiskVolume3\d\driver.exe`, "none"), false},
		{`image: C:\d\driver.exe`, on(`C:\d\driver.exe\driver.exe`, "none"), false},
		{`image: C:\d\driver.exe`, on("C:\\d\\dr\u0131ver.exe", "none"), false}, // ı is not I
		{`image: C:\d\driver.exe`, on("", "none"), false},
		{`image: C:\d\`, on(`C:\d\driver.exe`, "none"), true},
		{`image: C:\d\`, on(`C:\D\below\driver.exe`, "none"), true},
		{`image: C:\d\`, on(`C:\d2\driver.exe`, "none"), false},
		{`image: C:\d\`, on(`C:\d`, "none"), false},
		// In a container, a program has any path; and one whose container is not known may be in one.
		{`image: C:\d\driver.exe`, on(`C:\d\driver.exe`, "0123"), false},
		{`image: C:\d\driver.exe`, on(`C:\d\driver.exe`, ""), false},
		{`image: C:\d\driver.exe, container: none`, on(`C:\d\driver.exe`, "none"), true},

		{"container: any", on("", "0123"), true},
		{"container: any", on("", "none"), false},
		{"container: any", on("", ""), false},
		{"container: none", on("", "none"), true},
		{"container: none", on("", ""), false},
		{"container: abc", on("", "ABC"), true},
		{"container: abc", on("", "abcd"), false},

		{"cgroup: /a/b", on("", "/a/b"), true},
		{"cgroup: /a/b", on("", "/a/b/c"), false},
		{"cgroup: /a/b/", on("", "/a/b/c"), true},
		{"cgroup: /a/b/", on("", "/a/b/../c"), false},
		{"cgroup: /a/b/", on("", "/a/bc"), false},
		{"cgroup: /a/", on("", ""), false},
	} {
		p := parse(t, "- name: a\n  clients: [{"+test.client+"}]\n  methods: [read]\n")
		r, err := p.RuleOf(test.peer)
		if (r != nil) != test.want || (err == nil) != test.want {
			t.Errorf("{%s} and %s: got %v, want %t", test.client, Describe(test.peer), r, test.want)
		}
		if err != nil {
			wantPolicy(t, err)
		}
	}
}

// wantPolicy checks that an error is a refusal of the policy.
func wantPolicy(t *testing.T, err error) {
	t.Helper()
	var e *errdefs.Error
	if !errors.As(err, &e) || e.Class != errdefs.PermissionDenied || e.Reason != reason.Policy {
		t.Errorf("got %v, want PermissionDenied with the reason POLICY", err)
	}
}

func TestTheFirstRuleDecides(t *testing.T) {
	p := parse(t, "- name: a\n  clients: [{uid: 1}, {uid: 2}]\n  methods: [read]\n- name: b\n  clients: [{any: true}]\n "+
		" methods: ['*']\n")
	for uid, want := range map[int]string{1: "a", 2: "a", 3: "b"} {
		if r, err := p.RuleOf(transport.Peer{UID: &uid}); err != nil || r.Name() != want {
			t.Errorf("user %d: got %v, %v, want %s", uid, r, err, want)
		}
	}
	uid := 1
	r, _ := p.RuleOf(transport.Peer{UID: &uid})
	if err := r.Method("/v1.Volume/FormatVolume"); err == nil {
		t.Error("a later rule adds to an earlier one")
	}
}

func TestObjectsOfARequest(t *testing.T) {
	r := parse(t, `- name: a
  clients: [{any: true}]
  methods: [read]
  directories: ['C:\var\lib\kubelet\pods', 'D:\data']
  services: [MSiSCSI]
  smbServers: [fs, '*.example.com']
  iscsiPortals: [192.0.2.1, 198.51.100.0/24, '2001:db8::1', san.example.com, '*.lab.example']
  iscsiTargets: ['iqn.2001-04.com.example:*', eui.02004567A425678D]
`).Rules()[0]
	for m, texts := range map[node.Meaning]map[string]bool{
		node.NamesPath: {
			`C:\var\lib\kubelet\pods`: true, `c:\VAR\lib\kubelet\Pods\a`: true, `\var\lib\kubelet\pods\a`: true,
			`C:/var/lib/kubelet/pods/a`: true,
			`d:\data\`:                  true, `C:\var\lib\kubelet\\pods\a`: true,
			`C:\var\lib\kubelet`: false, `C:\var\lib\kubelet\pods2`: false, `C:\var\lib\kubelet\pods\..\plugins`: false,
			`D:\`: false, `D:\data2`: false,
			`E:\data`: false, `data`: false, `\\?\C:\var\lib\kubelet\pods`: false, `\\fs\share`: false,
			"C:\\var\\lib\\kubelet\\pods\\a\x00": false,
			`C:\var\lib\kubelet\pods.`:           false, `C:\var\lib\kubelet\pods \a`: false, `C:\var\lib\kubelet\pods:x`: false,
			`C:\var\lib\KUBELE~1\pods`: false,
		},
		node.NamesService: {"msiscsi": true, "MSISCSI": true, "MSiSCSI" + " ": false, "LanmanWorkstation": false,
			"*": false, "M\u0131SCSI": false},
		node.NamesShare: {
			`\\fs\share`: true, `\\FS\share\dir`: true, `//fs/share`: true, `\\a.example.com\share`: true,
			`\\a.b.EXAMPLE.com\share`: true,
			`\\example.com\share`:     false, `\\.example.com\share`: false, `\\evilexample.com\share`: false,
			`\\fs2\share`: false, `\\fs.\share`: false,
			`\\evil@x.example.com\share`: false, `\\;Web\x.example.com`: false, `\\evil;x.example.com\share`: false,
			`\fs\share`: true, `fs\share`: true, `\\\fs/\share`: true,
			`\evil\fs`: false, `evil\\fs\share`: false, `/\evil/fs`: false,
			`fs`: false, `\\fs`: false,
			`\\?\UNC\fs\share`: false, `\\.\fs\share`: false, "\\\\\u212A.example.com\\share": true,
			"\\\\a.e\u212Aample.com\\share": false,
		},
		node.NamesPortal: {
			"192.0.2.1": true, "198.51.100.7": true, "::ffff:192.0.2.1": true, "2001:DB8:0::1": true, "SAN.example.com": true,
			"192.0.2.2": false, "198.51.101.7": false, "192.0.2.1:3260": false, "192.0.2.01": false, "2001:db8::1%eth0": false,
			"san.example.com.": false, "::ffff:198.51.100.7": true, "::ffff:198.51.100.7%eth0": false,
			"a.lab.example": true, "lab.example": false, ".lab.example": false, ".a.lab.example": false,
		},
		node.NamesTarget: {
			"iqn.2001-04.com.example:disk": true, "IQN.2001-04.com.example:disk": true, "eui.02004567a425678d": true,
			"iqn.2001-04.com.example": false, "iqn.2001-04.com.example2:disk": false, "eui.02004567A425678D0": false,
		},
	} {
		for text, want := range texts {
			err := r.Names(m, text)
			if (err == nil) != want {
				t.Errorf("%d %q: got %v, want allowed: %t", m, text, err, want)
			}
			if err != nil {
				wantPolicy(t, err)
			}
		}
	}
	nothing := parse(t, "- name: a\n  clients: [{any: true}]\n  methods: [read]\n").Rules()[0]
	for m, text := range map[node.Meaning]string{node.NamesPath: `C:\var\lib\kubelet\pods`,
		node.NamesService: "msiscsi", node.NamesShare: `\\fs\share`, node.NamesPortal: "192.0.2.1",
		node.NamesTarget: "iqn.2001-04.com.example:a"} {
		if err := nothing.Names(m, text); err == nil || !strings.Contains(err.Error(), "it allows none") {
			t.Errorf("%s: a rule without a list allows it: %v", text, err)
		}
	}
}

// Each text of a request is looked at, those of the messages in it as well. What no row describes is refused: its
// content would not be looked at.
func TestTextsOfARequest(t *testing.T) {
	r := parse(t, "- name: r\n  clients: [any: true]\n  methods: [\"*\"]\n  iscsiPortals: [192.0.2.1]\n"+
		"  iscsiTargets: [eui.02004567A425678D]\n").rules[0]
	at := func(address, iqn string) proto.Message {
		return &iscsiapi.ConnectTargetRequest{TargetPortal: &iscsiapi.TargetPortal{TargetAddress: address}, Iqn: iqn,
			ChapUsername: "any"}
	}
	for _, test := range []struct {
		name    string
		request proto.Message
		refused bool
	}{
		{"allowed texts", at("192.0.2.1", "eui.02004567A425678D"), false},
		{"a message in it", at("192.0.2.2", "eui.02004567A425678D"), true},
		{"the request's own", at("192.0.2.1", "eui.02004567A425678E"), true},
		{"a text without a meaning", &descriptorpb.FileDescriptorProto{Name: proto.String("a")}, true},
		{"one in a list of messages", &descriptorpb.FileDescriptorSet{
			File: []*descriptorpb.FileDescriptorProto{{Name: proto.String("a")}}}, true},
		{"a list of texts", &fieldmaskpb.FieldMask{Paths: []string{"a"}}, true},
		{"a list of numbers", &descriptorpb.SourceCodeInfo_Location{Span: []int32{1}}, true},
		{"a map", &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewBoolValue(true)}}, true},
	} {
		if err := r.Request(test.request); (err != nil) != test.refused {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}
