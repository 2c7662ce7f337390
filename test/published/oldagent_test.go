// SPDX-License-Identifier: Apache-2.0

package published

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestOldAgent: with an agent that has only old versions a mount.Interface works, and a step says what is missing and
// changes nothing. Without any agent it says that instead.
func TestOldAgent(t *testing.T) {
	var old apis.Selection
	for _, version := range []string{"disk=v1beta1", "filesystem=v1beta1", "volume=v1beta1", "nodesteps=off"} {
		check(t, version, old.Set(version))
	}
	a, err := emulation.Start(t.Context(), emulation.Config{StateDir: testnode.ShortDir(t), Node: emulated.Options{},
		Config: agent.Config{APIs: &old}})
	check(t, "starting the agent", err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		check(t, "stopping the agent", a.Stop(ctx))
	})
	over := func(prefix string) *mounter.Mounter {
		c := csiproxy.New(csiproxy.Options{PipePath: func(group string, v apiversion.Version) string {
			return a.Path(prefix + group + "-" + v.String())
		}})
		t.Cleanup(func() { _ = c.Close() })
		return mounter.New(c)
	}

	m, ctx := over("csi-proxy-"), t.Context()
	check(t, "making a directory", m.Mkdir(ctx, staging))
	check(t, "publishing", m.Mount(staging, publish, "", nil))
	if is, err := m.IsMountPoint(publish); !is || err != nil {
		t.Errorf("IsMountPoint = %v, %v, want true", is, err)
	}
	if disks, err := m.Disks(ctx); len(disks) != 3 || err != nil {
		t.Errorf("Disks = %v, %v, want three", disks, err)
	}
	check(t, "unpublishing", m.Unmount(publish))
	if refs, err := m.GetMountRefs(publish); err != nil || len(refs) != 0 {
		t.Errorf("afterwards there is %q, %v", refs, err)
	}

	for agent, c := range map[string]struct {
		prefix      string
		unsupported bool
		text        []string
	}{
		"an old one": {"csi-proxy-", true, []string{"csi-proxy-nodesteps-v1alpha1", "-api"}},
		"none":       {"nobody-", false, []string{"check that the csiproxy service"}},
	} {
		m := over(c.prefix)
		for step, do := range map[string]func() error{
			"StageDisk": func() error {
				_, err := m.StageDisk(ctx, mounter.ByEBSVolume("vol-0123456789abcdef1"), staging, mounter.StageOptions{})
				return err
			},
			"FormatAndMount": func() error { return m.FormatAndMount("1", staging, "", nil) },
			"StageShare":     func() error { return m.StageShare(ctx, `\\fs.emulated\share`, staging, mounter.Credentials{}) },
			"Publish":        func() error { return m.Publish(ctx, staging, publish) },
			"Unstage":        func() error { return m.Unstage(ctx, staging) },
			"Expand":         func() error { _, err := m.Expand(ctx, staging, 0); return err },
			"GetVolume":      func() error { _, err := m.GetVolume(ctx, staging); return err },
		} {
			err := do()
			if errors.Is(err, csiproxy.ErrNoAgent) == c.unsupported || errors.Is(err, csiproxy.ErrUnsupported) != c.unsupported {
				t.Errorf("%s with %s: %v, want ErrUnsupported: %t", step, agent, err, c.unsupported)
				continue
			}
			for _, text := range c.text {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s with %s: %v, want %s in it", step, agent, err, text)
				}
			}
		}
	}
	if exists, err := m.PathExists(ctx, staging); !exists || err != nil {
		t.Errorf("the directory is gone: %v", err)
	}
}
