// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A rule's directory is in order below or above a working directory; any other one is reported.
func TestDirectoriesOutside(t *testing.T) {
	p, err := policy.Parse("file", []byte("apiVersion: csi-proxy/v1alpha1\nkind: Policy\nrules:\n- name: a\n"+
		"  clients: [{any: true}]\n  methods: [read]\n"+
		"  directories: ['C:\\var\\lib\\kubelet\\pods', 'C:\\', 'D:\\data', 'C:\\var\\lib\\kubelet2']\n"))
	if err != nil {
		t.Fatal(err)
	}
	working, err := winpath.NewWorkingDirs([]string{`C:\var\lib\kubelet`, `C:\other`})
	if err != nil {
		t.Fatal(err)
	}
	got := outside(p, working)
	if len(got) != 2 || !strings.HasPrefix(got[0], `line 4: the rule "a" allows C:\var\lib\kubelet2, which is in no`) ||
		!strings.Contains(got[1], `allows D:\data,`) {
		t.Errorf("got %q", got)
	}
	if got := outside(p, winpath.WorkingDirs{}); got != nil {
		t.Errorf("without working directories: got %q", got)
	}
}

func TestClientsOfASummary(t *testing.T) {
	p, err := policy.Parse("file", []byte(`apiVersion: csi-proxy/v1alpha1
kind: Policy
rules:
- name: a
  clients: [{any: true}, {uid: 7}, {image: 'C:\d\', container: none}, {image: 'C:\', container: none}, {image: 'C:\a.exe', container: none}]
  methods: [read]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"any=true", "uid=7", `image=C:\d\, container=none`, `image=C:\, container=none`,
		`image=C:\a.exe, container=none`}
	if got := summaryOf(p.Rules()[0]).Clients; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
