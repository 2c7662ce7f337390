// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package page_test

import (
	"encoding/json"
	"regexp"
	"testing"
)

// The page takes the fields and keys that its buttons set, of the methods that they call, and no others.
func TestFields(t *testing.T) {
	t.Parallel()
	s := open(t, false)
	_, html, _ := s.send("GET", "/", "", nil)
	type setting struct{ method, key string }
	set := map[setting]bool{}
	methods := map[string]bool{}
	for _, call := range regexp.MustCompile(`call\('(\w+)', (\{[^}]*)`).FindAllStringSubmatch(html, -1) {
		methods[call[1]] = true
		for _, key := range regexp.MustCompile(`(\w+):`).FindAllStringSubmatch(call[2], -1) {
			set[setting{call[1], key[1]}] = true
		}
	}
	if len(methods) < 6 || !set[setting{"Add", "serial"}] || !set[setting{"Change", "readOnly"}] {
		t.Fatalf("the page's buttons set %v", set)
	}
	before := s.state("0", 0)
	for method := range methods {
		for _, list := range []string{"disks", "smbServers", "smbSessions", "iscsiPortals", "smbUsers", "services", "switches"} {
			for key, value := range map[string]any{"number": 1, "size": 1 << 40, "serial": "x", "busType": "nvme", "offline": true,
				"readOnly": true, "content": "formatted", "image": "/etc/x.img", "bundle": "/etc/x.disk", "protected": true,
				"name": "fs.emulated", "stopped": true, "shares": []any{}, "server": "fs.emulated", "address": "192.0.2.10",
				"port": 3260, "connected": false, "password": "x"} {
				request, err := json.Marshal(map[string]any{"document": map[string]any{list: []any{map[string]any{key: value}}}})
				if err != nil {
					t.Fatal(err)
				}
				code, got, _ := s.send("POST", "/call/"+method, string(request), nil)
				wanted := set[setting{method, list}] && set[setting{method, key}]
				if set[setting{method, "document"}] && wanted == (code == 403) {
					t.Errorf("%s %s: got %d %s; the buttons set it: %t", method, request, code, got, wanted)
				}
			}
		}
	}
	for _, method := range []string{"Get", "SaveNode", "RestoreNode", "ListJournal"} {
		if code, got, _ := s.send("POST", "/call/"+method, "{}", nil); code != 403 {
			t.Errorf("%s: got %d %s, want a refusal", method, code, got)
		}
	}
	if after := s.state("0", 0); after.Version == before.Version {
		t.Errorf("no field that a button sets has changed anything: %+v", after)
	}
}
