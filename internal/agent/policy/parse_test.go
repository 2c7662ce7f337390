// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
)

const head = "apiVersion: csi-proxy/v1alpha1\nkind: Policy\n"

// plain is a rule that every mistake below is added to.
const plain = head + "rules:\n- name: a\n  clients: [{any: true}]\n  methods: [read]\n"

func TestMistakesInFiles(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"kind: Policy\nrules: []\n", `file:1: apiVersion: it is ""; this agent knows csi-proxy/v1alpha1`},
		{"apiVersion: v1\n", `file:1: apiVersion: it is "v1"; this agent knows csi-proxy/v1alpha1`},
		{"apiVersion: csi-proxy/v1alpha1\nkind: policy\n", `file:2: kind: it is "policy"; this agent knows Policy`},
		{head + "rules: []\n", "file:3: rules: a policy needs one or more"},
		{head, "file:1: rules: a policy needs one or more"},
		{strings.TrimPrefix(plain, "apiVersion: csi-proxy/v1alpha1\n"),
			`file:1: apiVersion: it is ""; this agent knows csi-proxy/v1alpha1`},
		{plain + "  method: [read]\n",
			"file:7: rules[0].method: there is no such field; the fields are name, clients, methods, " +
				"directories, services, smbServers, iscsiPortals, iscsiTargets"},
		{plain + "- name: a\n  clients: [{any: true}]\n  methods: [read]\n", `file:7: rules[1]: two rules have the name "a"`},
		{plain + "- name: b\n  clients: [{}]\n  methods: [read]\n",
			"file:8: rules[1].clients[0]: a client is not described; any: true is every client"},
		{plain + "- name: b\n  clients: []\n  methods: [read]\n", "file:7: rules[1]: a rule needs a name, clients and methods"},
		{plain + "- name: b\n  methods: [read]\n", "file:7: rules[1]: a rule needs a name, clients and methods"},
		{plain + "- name: b\n  clients: [{any: false}]\n", "file:8: rules[1].clients[0]: any can only be true; a rule without it is for the clients that it describes"},
		{plain + "- name: b\n  clients: [{any: true, uid: 0}]\n", "file:8: rules[1].clients[0]: any stands alone: every client is meant"},
		{plain + "- name: b\n  clients: [{sid: SYSTEM}]\n", `file:8: rules[1].clients[0].sid: it is "SYSTEM"; it must be a security identifier such as S-1-5-18, not a name`},
		{plain + "- name: b\n  clients: [{sid: 'S-1-5-'}]\n", `it must be a security identifier`},
		{plain + "- name: b\n  clients: [{image: driver.exe}]\n",
			`file:8: rules[1].clients[0].image: path "driver.exe": not an absolute Windows path`},
		{plain + "- name: b\n  clients: [{image: 'C:\\PROGRA~1\\a.exe'}]\n", "8.3 short name"},
		{plain + "- name: b\n  clients: [{image: 'C:\\a.exe', container: any}]\n", "file:8: rules[1].clients[0]: image needs container: none, which it means by itself: in a container, any program may have any path"},
		{plain + "- name: b\n  clients: [{cgroup: kubepods}]\n",
			`file:8: rules[1].clients[0].cgroup: it is "kubepods"; it must begin with a slash`},
		{plain + "- name: b\n  clients: [{user: 0}]\n", "file:8: rules[1].clients[0].user: there is no such field; the fields are any, sid, elevated"},
		{plain + "- name: ''\n", "file:7: rules[1].name: it is empty"},
		{plain + "- name: \"a\\nb\"\n", "file:7: rules[1].name: it has a control character"},
		{plain + "- name: b\n  methods: [disks]\n", `file:8: rules[1].methods[0]: "disks" selects no method of the API`},
		{plain + "- name: b\n  methods: [disk/v9]\n", `file:8: rules[1].methods[0]: "disk/v9" selects no method of the API`},
		{plain + "- name: b\n  methods: ['']\n", "file:8: rules[1].methods[0]: it is empty"},
		{plain + "- name: b\n  methods: ['volume.*']\n", `file:8: rules[1].methods[0]: "volume.*" selects no method of the API`},
		{plain + "- name: b\n  methods: [/csiproxy.admin.v1alpha1.Admin/GetFacts]\n", "file:8: "},
		{plain + "  directories: ['pods']\n", `file:7: rules[0].directories[0]: working directory: path "pods": not an absolute Windows path`},
		{plain + "  directories: ['C:\\a\\..\\b']\n", `has a ".." component`},
		{plain + "  services: ['Lanman*']\n", `file:7: rules[0].services[0]: "Lanman*" is not the name of a service, nor * alone`},
		{plain + "  smbServers: ['\\\\fs\\share']\n", `is not the name of a server`},
		{plain + "  smbServers: ['fs*']\n", `is not the name of a server`},
		{plain + "  smbServers: [\"bac\u212Aup\"]\n", "has a letter that looks like k or s and is another one"},
		{plain + "  iscsiPortals: ['192.0.2.1:3260']\n", "a port is not part of it"},
		{plain + "  iscsiPortals: ['2001:db8::1%eth0']\n", "is not an address"},
		{plain + "  iscsiTargets: ['iqn.*.com']\n", "has a * that is not at its end"},
	} {
		_, err := Parse("file", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, new(*strictyaml.Error)) {
			t.Errorf("%q:\ngot  %v\nwant %s", strings.TrimPrefix(test.text, plain), err, test.want)
		}
	}
}

// JSON is YAML, and read as strictly.
func TestJSON(t *testing.T) {
	const text = `{"apiVersion": "csi-proxy/v1alpha1", "kind": "Policy",
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
			if !errors.As(err, new(*strictyaml.Error)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %q", text, err)
			}
			return
		}
		for _, r := range p.Rules() {
			if r.Name() == "" || len(r.File.Clients) == 0 || len(r.File.Methods) == 0 || r.Line == 0 {
				t.Errorf("%q: a rule without its parts: %+v", text, r.File)
			}
		}
	})
}
