// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestChangers(t *testing.T) {
	const users, system, full, read = "S-1-5-32-545", "S-1-5-18", 0x1f01ff, 0x1200a9
	administratorsOnly := []win32.AccessEntry{{Mask: full, SID: "S-1-5-18"}, {Mask: full, SID: "S-1-5-32-544"},
		{Mask: read, SID: users}}
	for _, test := range []struct {
		name  string
		owner string
		list  []win32.AccessEntry
		want  []string
	}{
		{"administrators only", system, administratorsOnly, nil},
		{"and theirs", "S-1-5-32-544", administratorsOnly, nil},
		{"TrustedInstaller's", "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464", administratorsOnly, nil},
		{"the machine's Administrator's", "S-1-5-21-1-2-3-500", administratorsOnly, nil},
		{"a user's", "S-1-5-21-1-2-3-1001", administratorsOnly, []string{"S-1-5-21-1-2-3-1001"}},
		{"a user's, who may write too", users, []win32.AccessEntry{{Mask: full, SID: users}}, []string{users}},
		{"a user's, with a list of nothing", users, nil, []string{users}},
		{"a user's, whose rights are said", users, []win32.AccessEntry{{Mask: read, SID: "S-1-3-4"}}, []string{users}},
		{"the owner may, who is an administrator", system, []win32.AccessEntry{{Mask: full, SID: "S-1-3-4"}}, nil},
		{"the creator of what is below may", system, []win32.AccessEntry{{Mask: full, SID: "S-1-3-0"}}, nil},
		{"users make a directory lead elsewhere", system,
			[]win32.AccessEntry{{Mask: read | 0x100, SID: users}}, []string{users}},
		{"users write", system, []win32.AccessEntry{{Mask: read | 0x2, SID: users}, {Mask: full, SID: users}},
			[]string{users}},
		{"users remove what is below, and put a link there", system,
			[]win32.AccessEntry{{Mask: read | 0x40, SID: users}}, []string{users}},
		{"users remove the directory itself", system,
			[]win32.AccessEntry{{Mask: read | 0x10000, SID: users}}, []string{users}},
		{"users may do everything, in general", system,
			[]win32.AccessEntry{{Mask: 0x10000000, SID: users}, {Mask: 0x40000000, SID: world}},
			[]string{users, world}},
		{"users add directories, as in C:\\", system, []win32.AccessEntry{{Mask: 0x4, SID: users}}, []string{users}},
		{"users may take it over", system,
			[]win32.AccessEntry{{Mask: 0x40000, SID: users}, {Mask: 0x80000, SID: world}},
			[]string{users, world}},
		{"only what is made below", system,
			[]win32.AccessEntry{{Flags: win32.INHERIT_ONLY_ACE, Mask: full, SID: users}}, nil},
		{"the machine's Administrator", system, []win32.AccessEntry{{Mask: full, SID: "S-1-5-21-1-2-3-500"},
			{Mask: full, SID: "S-1-5-21-1-2-3-1001"}}, []string{"S-1-5-21-1-2-3-1001"}},
		{"an account that only ends like one", system, []win32.AccessEntry{{Mask: full, SID: "S-1-12-1-500"}},
			[]string{"S-1-12-1-500"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, changers(test.owner, test.list)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
