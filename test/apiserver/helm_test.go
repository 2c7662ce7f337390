// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"path"
	"strings"
	"testing"
)

// Helm installs the chart, waits until its pods are ready, runs its test, and upgrades from each set of values to the
// next and back again, with the real nodes' part played. It never says that it would change what cannot be changed.
func testHelm(t *testing.T, c *cluster) {
	c.agentsNamespace(t)
	all := glob(t, "test/deploy/testdata/chart/*.values.yaml")
	wait := []string{"--wait", "--timeout=" + testTimeout.String()}
	c.helm(t, append([]string{"install", "csi-proxy", "charts/csi-proxy", "--values", all[0]}, wait...)...)
	for _, values := range append(all[1:], all[0]) {
		name := strings.TrimSuffix(path.Base(values), ".values.yaml")
		ok := t.Run(name, func(t *testing.T) {
			upgrade := []string{"upgrade", "csi-proxy", "charts/csi-proxy", "--values", values}
			c.helm(t, append(upgrade, "--dry-run=server")...)
			c.helm(t, append(upgrade, wait...)...)
			_, daemonSet := c.daemonSet(t)
			c.runsOn(t, agents, daemonSet, windowsNodes...)
			t.Log(c.helm(t, "test", "csi-proxy", "--timeout="+testTimeout.String()))
			c.helm(t, append([]string{"rollback", "csi-proxy"}, wait...)...)
			c.helm(t, append(upgrade, wait...)...)
			c.runsOn(t, agents, daemonSet, windowsNodes...)
		})
		if !ok {
			return
		}
	}
	c.helm(t, append([]string{"uninstall", "csi-proxy"}, wait...)...)
	c.isGone(t, agents)
	c.deleteNamespace(t, agents)
}

// helm runs Helm in the agents' namespace; it must succeed and print no warning.
func (c *cluster) helm(t *testing.T, args ...string) string {
	t.Helper()
	return c.run(t, "helm", append([]string{"--namespace", agents}, args...)...)
}
