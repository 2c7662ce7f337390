// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name, kubelet, dirs string
		want                inprocess.Options
	}{
		{"nothing set", "", "", inprocess.Options{}},
		{"one directory", "", `D:\mnt`, inprocess.Options{WorkingDirs: []string{`D:\mnt`}}},
		{"all", `D:\kubelet`, `D:\mnt;C:\a b;`,
			inprocess.Options{KubeletDir: `D:\kubelet`, WorkingDirs: []string{`D:\mnt`, `C:\a b`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(KubeletDirVariable, c.kubelet)
			t.Setenv(WorkingDirsVariable, c.dirs)
			if diff := cmp.Diff(options(), c.want, cmpopts.IgnoreFields(inprocess.Options{}, "Logger")); diff != "" {
				t.Errorf("options (-got +want):\n%s", diff)
			}
		})
	}
}
