// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"
	"testing"
)

const head = "apiVersion: csi-proxy.kubernetes.io/v1alpha1\nkind: Policy\n"

// plain is a rule that every mistake below is added to.
const plain = head + "rules:\n- name: a\n  clients: [{any: true}]\n  methods: [read]\n"

func TestMistakesInFiles(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "file: it is empty"},
		{"a: [", "file:1: it is not YAML: did not find expected node content"},
		{"- a", "file:1: a policy must be a mapping"},
		{"kind: Policy\nrules: []\n", "file:2: rules is an empty list"},
		{"apiVersion: v1\n", `file:1: apiVersion is "v1"; this agent knows csi-proxy.kubernetes.io/v1alpha1`},
		{"kind: policy\n", `file:1: kind is "policy"; this agent knows Policy`},
		{head, "file:1: a policy needs the field rules"},
		{strings.TrimPrefix(plain, "apiVersion: csi-proxy.kubernetes.io/v1alpha1\n"),
			"file:1: a policy needs the field apiVersion"},
		{plain + "  method: [read]\n",
			`file:7: a rule has no field "method"; its fields are clients, directories, iscsiPortals, iscsiTargets, methods, name, services, smbServers`},
		{plain + "  methods: [read]\n", "file:7: the field methods appears twice"},
		{plain + "- name: a\n  clients: [{any: true}]\n  methods: [read]\n", `file:7: two rules have the name "a"`},
		{plain + "- name: b\n  clients: [{}]\n  methods: [read]\n",
			"file:8: a client is not described; any: true is every client"},
		{plain + "- name: b\n  clients: []\n  methods: [read]\n", "file:8: clients is an empty list"},
		{plain + "- name: b\n  methods: [read]\n", "file:7: a rule needs the field clients"},
		{plain + "- name: b\n  clients: [{any: false}]\n", "file:8: any can only be true"},
		{plain + "- name: b\n  clients: [{any: true, uid: 0}]\n", "file:8: any stands alone"},
		{plain + "- name: b\n  clients: [{uid: root}]\n", "file:8: uid must be a whole number"},
		{plain + "- name: b\n  clients: [{uid: -1}]\n", "file:8: uid must be a whole number"},
		{plain + "- name: b\n  clients: [{uid: 0x10}]\n", "file:8: uid must be a whole number"},
		{plain + "- name: b\n  clients: [{sid: SYSTEM}]\n", `file:8: sid is "SYSTEM"; it must be a security identifier`},
		{plain + "- name: b\n  clients: [{sid: 'S-1-5-'}]\n", `it must be a security identifier`},
		{plain + "- name: b\n  clients: [{elevated: 'yes'}]\n", "file:8: elevated must be true or false"},
		{plain + "- name: b\n  clients: [{image: driver.exe}]\n",
			"file:8: image: path \"driver.exe\": not an absolute Windows path"},
		{plain + "- name: b\n  clients: [{image: 'C:\\PROGRA~1\\a.exe'}]\n", "8.3 short name"},
		{plain + "- name: b\n  clients: [{image: 'C:\\a.exe', container: any}]\n", "file:8: image needs container: none"},
		{plain + "- name: b\n  clients: [{cgroup: kubepods}]\n",
			"file:8: cgroup is \"kubepods\"; it must begin with a slash"},
		{plain + "- name: b\n  clients: [{user: 0}]\n", `file:8: a client has no field "user"`},
		{plain + "- name: b\n  clients: [&x {any: true}, *x]\n", "file:8: a client must be a mapping"},
		{plain + "- name: &x b\n", "file:7: name must be a text"},
		{plain + "- name: 7\n", "file:7: name must be a text"},
		{plain + "- name: ''\n", "file:7: name is empty"},
		{plain + "- name: \"a\\nb\"\n", "file:7: name has a control character"},
		{plain + "- name: b\n  methods: [disks]\n", `file:8: "disks" selects no method of the API`},
		{plain + "- name: b\n  methods: [disk/v9]\n", `file:8: "disk/v9" selects no method of the API`},
		{plain + "- name: b\n  methods: ['']\n", "file:8: a method is empty"},
		{plain + "- name: b\n  methods: ['volume.*']\n", `file:8: "volume.*" selects no method of the API`},
		{plain + "- name: b\n  methods: [/csiproxy.admin.v1alpha1.Admin/GetTree]\n", "file:8: "},
		{plain + "  directories: ['pods']\n", "file:7: working directory: path \"pods\": not an absolute Windows path"},
		{plain + "  directories: ['C:\\a\\..\\b']\n", `has a ".." component`},
		{plain + "  services: ['Lanman*']\n", `file:7: services: "Lanman*" is not the name of a service, nor * alone`},
		{plain + "  services: [*]\n", "file:7: it is not YAML"},
		{plain + "  smbServers: ['\\\\fs\\share']\n", `is not the name of a server`},
		{plain + "  smbServers: ['fs*']\n", `is not the name of a server`},
		{plain + "  iscsiPortals: ['192.0.2.1:3260']\n", "a port is not part of it"},
		{plain + "  iscsiPortals: ['2001:db8::1%eth0']\n", "is not an address"},
		{plain + "  iscsiTargets: ['iqn.*.com']\n", "has a * that is not at its end"},
		{plain + "---\n" + plain, "a second document begins"},
		{strings.Repeat(" ", maxBytes+1), "it has more than 1048576 bytes"},
	} {
		_, err := Parse("file", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, new(*FileError)) {
			t.Errorf("%q:\ngot  %v\nwant %s", strings.TrimPrefix(test.text, plain), err, test.want)
		}
	}
}

// JSON is YAML, and read as strictly.
func TestJSON(t *testing.T) {
	const text = `{"apiVersion": "csi-proxy.kubernetes.io/v1alpha1", "kind": "Policy",
 "rules": [{"name": "a", "clients": [{"uid": 0}], "methods": ["*"]}]}`
	if p, err := Parse("file", []byte(text)); err != nil || len(p.Rules()) != 1 {
		t.Errorf("got %v, %v", p, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{plain, head, plain + "  smbServers: ['*.a', b]\n  directories: ['C:\\a', '/b']\n", "{",
		"a: &a [*a]", plain + "- name: b\n  clients: [{uid: 1, sid: S-1-5-18, image: 'C:\\a\\', elevated: true}]\n  " +
			"methods: ['*']\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse("file", text)
		if err != nil {
			if !errors.As(err, new(*FileError)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %q", text, err)
			}
			return
		}
		for _, r := range p.Rules() {
			s := r.Summary()
			if s.Name == "" || len(s.Clients) == 0 || len(s.Methods) == 0 || s.Line == 0 {
				t.Errorf("%q: a rule without its parts: %+v", text, s)
			}
		}
	})
}
