// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// An agent's process is started and called as on Windows; here its node is emulated.
func TestAgentProcess(t *testing.T) {
	dir := testnode.ShortDir(t)
	args, sockets := []string{"-state-dir=" + dir}, filepath.Join(dir, "run")
	if runtime.GOOS == "windows" {
		sockets = "" // it serves pipes
	} else {
		args = append(args, "-socket-dir="+sockets)
	}
	if got, want := testnode.LaunchEmulated(t, args...).Ready(),
		fmt.Sprintf("ready %d", len(testnode.Released(t))); got != want {
		t.Errorf("the agent says %q, want %q", got, want)
	}
	client, err := adminclient.Dial(t.Context(), sockets)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	served, err := client.ListAPIs(t.Context(), &admin.ListAPIsRequest{})
	if err != nil || len(served.GetApis()) != len(testnode.Released(t)) {
		t.Errorf("the agent serves %v, %v", served, err)
	}
}
