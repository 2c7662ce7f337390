// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestOldAgent: a volume's life works with an agent that has only old versions, as far as those go.
func TestOldAgent(t *testing.T) {
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir is too long for a socket
	check(t, "making a directory", err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var old apis.Selection
	for _, version := range []string{"disk=v1beta1", "filesystem=v1beta1", "volume=v1beta1"} {
		check(t, version, old.Set(version))
	}
	a, err := emulation.Start(t.Context(), emulation.Config{StateDir: dir, Node: emulated.Options{},
		Config: agent.Config{APIs: &old}})
	check(t, "starting the agent", err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		check(t, "stopping the agent", a.Stop(ctx))
	})
	c := csiproxy.New(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
		return a.Path("csi-proxy-" + group + "-" + v.String())
	}})
	t.Cleanup(func() { _ = c.Close() })
	m := mounter.New(c)

	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	check(t, "publishing", m.Mount(staging, publish, "", nil))
	for _, path := range []string{staging, publish} {
		if is, err := m.IsMountPoint(path); !is || err != nil {
			t.Errorf("IsMountPoint(%s) = %v, %v, want true", path, is, err)
		}
	}
	if usage, err := m.Usage(t.Context(), publish); err != nil || usage.Total < 9<<30 {
		t.Errorf("Usage = %+v, %v, want the 10 GiB of the disk", usage, err)
	}
	check(t, "unpublishing", m.Unmount(publish))
	check(t, "unmounting", m.Unmount(staging))
	if refs, err := m.GetMountRefs(staging); err != nil || len(refs) != 0 {
		t.Errorf("afterwards there is %q, %v", refs, err)
	}
}
