// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChangers(t *testing.T) {
	const users, system, full, read = "S-1-5-32-545", "S-1-5-18", 0x1f01ff, 0x1200a9
	administratorsOnly := []ace{{allow: true, mask: full, sid: "S-1-5-18"}, {allow: true, mask: full, sid: "S-1-5-32-544"},
		{allow: true, mask: read, sid: users}}
	for _, test := range []struct {
		name  string
		owner string
		list  []ace
		want  []string
	}{
		{"administrators only", system, administratorsOnly, nil},
		{"and theirs", "S-1-5-32-544", administratorsOnly, nil},
		{"TrustedInstaller's", "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", administratorsOnly, nil},
		{"the machine's Administrator's", "S-1-5-21-1-2-3-500", administratorsOnly, nil},
		{"a user's", "S-1-5-21-1-2-3-1001", administratorsOnly, []string{"S-1-5-21-1-2-3-1001"}},
		{"a user's, who may write too", users, []ace{{allow: true, mask: full, sid: users}}, []string{users}},
		{"a user's, with a list of nothing", users, nil, []string{users}},
		{"a user's, whose rights are said", users, []ace{{allow: true, mask: read, sid: "S-1-3-4"}}, []string{users}},
		{"the owner may, who is an administrator", system, []ace{{allow: true, mask: full, sid: "S-1-3-4"}}, nil},
		{"the creator of what is below may", system, []ace{{allow: true, mask: full, sid: "S-1-3-0"}}, nil},
		{"users make a directory lead elsewhere", system,
			[]ace{{allow: true, mask: read | 0x100, sid: users}}, []string{users}},
		{"users write", system, []ace{{allow: true, mask: read | 0x2, sid: users}, {allow: true, mask: full, sid: users}},
			[]string{users}},
		{"users remove what is below, and put a link there", system,
			[]ace{{allow: true, mask: read | 0x40, sid: users}}, []string{users}},
		{"users remove the directory itself", system,
			[]ace{{allow: true, mask: read | 0x10000, sid: users}}, []string{users}},
		{"users may do everything, in general", system,
			[]ace{{allow: true, mask: 0x10000000, sid: users}, {allow: true, mask: 0x40000000, sid: world}},
			[]string{users, world}},
		{"users add directories, as in C:\\", system, []ace{{allow: true, mask: 0x4, sid: users}}, []string{users}},
		{"users may take it over", system,
			[]ace{{allow: true, mask: 0x40000, sid: users}, {allow: true, mask: 0x80000, sid: world}},
			[]string{users, world}},
		{"only what is made below", system, []ace{{allow: true, inheritOnly: true, mask: full, sid: users}}, nil},
		{"denied", system, []ace{{mask: full, sid: users}}, nil},
		{"the machine's Administrator", system, []ace{{allow: true, mask: full, sid: "S-1-5-21-1-2-3-500"},
			{allow: true, mask: full, sid: "S-1-5-21-1-2-3-1001"}}, []string{"S-1-5-21-1-2-3-1001"}},
		{"an account that only ends like one", system, []ace{{allow: true, mask: full, sid: "S-1-12-1-500"}},
			[]string{"S-1-12-1-500"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, changers(test.owner, test.list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
