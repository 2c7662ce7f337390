// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

func names(endpoints []server.Endpoint) []string {
	list := []string{}
	for _, e := range endpoints {
		list = append(list, e.Name)
	}
	return list
}

// groups returns the names of the API groups.
func groups() (list []string) {
	for _, e := range apis.All(&node.Node{}) {
		if !slices.Contains(list, e.Group) {
			list = append(list, e.Group)
		}
	}
	slices.Sort(list)
	return list
}

// andNoOther switches off the groups that a selection does not mention.
func andNoOther(set ...string) []string {
	for _, group := range groups() {
		if !slices.ContainsFunc(set, func(text string) bool { return strings.HasPrefix(text, group+"=") }) {
			set = append(set, group+"=off")
		}
	}
	return set
}

func TestSelection(t *testing.T) {
	all := names(apis.All(&node.Node{}))
	for _, test := range []struct {
		name string
		set  []string
		want []string
		err  string
	}{
		{name: "nothing set: all", want: all},
		{name: "a group off", set: andNoOther("filesystem=off", "disk=v1", "volume=v1,v1beta3"),
			want: []string{"csi-proxy-disk-v1", "csi-proxy-volume-v1", "csi-proxy-volume-v1beta3"}},
		{name: "some versions", set: andNoOther("volume=v2alpha1", "filesystem=v2alpha1,v1", "disk=off"),
			want: []string{"csi-proxy-filesystem-v1", "csi-proxy-filesystem-v2alpha1", "csi-proxy-volume-v2alpha1"}},
		{name: "no group", set: []string{"off"}, err: "group=off"},
		{name: "empty", set: []string{""}, err: "group=off"},
		{name: "no version", set: []string{"disk="}, err: "group=off"},
		{name: "unknown group", set: []string{"dsik=v1"}, err: `there is no API group "dsik"; the groups are ` +
			strings.Join(groups(), ", ")},
		{name: "unknown version", set: []string{"disk=v7"}, err: `there is no version "v7" of the API group "disk"`},
		{name: "on is no version", set: []string{"disk=on"}, err: `there is no version "on"`},
		{name: "off is no version", set: []string{"disk=v1,off"}, err: `there is no version "off"`},
		{name: "twice", set: []string{"disk=off", "disk=v1"}, err: `"disk" is set twice`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s apis.Selection
			var err error
			for _, text := range test.set {
				if err = s.Set(text); err != nil {
					break
				}
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got the error %v, want %q in it", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(names(s.Apply(apis.All(&node.Node{}))), test.want); diff != "" {
				t.Errorf("selected endpoints differ (-got +want):\n%s", diff)
			}
		})
	}
}

func TestEmptySelection(t *testing.T) {
	var s apis.Selection
	for _, text := range andNoOther() {
		if s.Empty() {
			t.Errorf("%s: empty too early", text)
		}
		if err := s.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Empty() {
		t.Error("it is not empty")
	}
}

func FuzzSelection(f *testing.F) {
	for _, text := range []string{"disk=v1", "iscsi=off", "=", "disk=,", "volume=v1,v2alpha1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s apis.Selection
		if s.Set(text) != nil {
			return
		}
		group, list, _ := strings.Cut(text, "=")
		for _, e := range s.Apply(apis.All(&node.Node{})) {
			if e.Group == group && !slices.Contains(strings.Split(list, ","), e.Version) {
				t.Errorf("%q selects %s", text, e.Name)
			}
		}
	})
}
