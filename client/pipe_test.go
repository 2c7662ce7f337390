// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/client"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
)

func TestPipePathKeepsTheSpellingThatDriversMount(t *testing.T) {
	tests := []struct {
		name, group, version string
		want                 string
	}{
		{"stable", "disk", "v1", `\\.\\pipe\\csi-proxy-disk-v1`},
		{"alpha", "filesystem", "v2alpha1", `\\.\\pipe\\csi-proxy-filesystem-v2alpha1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := client.PipePath(tt.group, apiversion.NewVersionOrPanic(tt.version))
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("PipePath(%q, %q) (-got +want):\n%s", tt.group, tt.version, diff)
			}
		})
	}
}
