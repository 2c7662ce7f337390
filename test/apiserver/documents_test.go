// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

// typed finds the blocks that CI cannot run for each commit because they need a cluster: kubectl begins them.
var typed = regexp.MustCompile("(?s)```sh\n(kubectl [^`]*)```\n\n\\*Not run in CI\\.\\*")

// The commands of the documents do what the documents say, from the first to the last.
func testDocuments(t *testing.T, c *cluster) {
	var blocks []string
	for _, page := range []string{"docs/install.md", "docs/move.md"} {
		for _, match := range typed.FindAllStringSubmatch(read(t, page), -1) {
			blocks = append(blocks, match[1])
		}
	}
	if len(blocks) != 4 {
		t.Fatalf("the pages have %d blocks for a cluster, want the chart's and the look at it in docs/install.md, the "+
			"move and the return in docs/move.md", len(blocks))
	}
	if match := typed.FindStringSubmatch(read(t, "charts/csi-proxy/README.md")); len(match) != 2 || match[1] != blocks[0] {
		t.Errorf("the chart's README installs otherwise than docs/install.md: %q", match)
	}
	c.command(t, blocks[0])
	c.runsOn(t, agents, "csi-proxy", windowsNodes...)
	c.command(t, blocks[1])
	c.helm(t, "uninstall", "csi-proxy", "--wait")
	c.isGone(t, agents)

	t.Run("from the original", func(t *testing.T) { c.fromTheOriginal(t, blocks[2]) })
	c.helm(t, "uninstall", "csi-proxy", "--wait")
	c.isGone(t, agents)
	c.deleteNamespace(t, agents)
}

// original is the original's agent as its documents deploy it: nothing but what makes it run.
const original = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: csi-proxy, namespace: kube-system}
spec:
  selector: {matchLabels: {name: csi-proxy}}
  template:
    metadata: {labels: {name: csi-proxy}}
    spec:
      nodeSelector: {kubernetes.io/os: windows}
      securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\SYSTEM'}}
      hostNetwork: true
      containers:
        - {name: csi-proxy, image: ghcr.io/kubernetes-sigs/sig-windows/csi-proxy:v1.1.3}
`

// fromTheOriginal types the steps one by one, and looks after each which agent has which node.
func (c *cluster) fromTheOriginal(t *testing.T, steps string) {
	const taint = "node.kubernetes.io/os"
	c.kubectl(t, "taint", "nodes", "--selector=kubernetes.io/os=windows", taint+"-") // the original tolerates none
	c.kubectl(t, "--namespace=kube-system", "create", "serviceaccount", "default")   // a controller's work
	c.command(t, "kubectl create -f - <<'END'\n"+original+"END\n")
	c.runsOn(t, "kube-system", "csi-proxy", windowsNodes...)

	both, first, second := windowsNodes, windowsNodes[:1], windowsNodes[1:]
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(steps, "NODE", first[0])), "\n")
	for i, after := range []struct {
		command        string
		original, ours []string
	}{
		{"kubectl label nodes -l kubernetes.io/os=windows csi-proxy-agent=original", both, nil},
		{"kubectl -n kube-system patch daemonset", both, nil},
		{"helm install", both, nil},
		{"kubectl label node windows-1 --overwrite csi-proxy-agent=rebuilt", second, first},
		{"kubectl -n csi-proxy logs", second, first},
		{"helm test", second, first},
		{"kubectl label node windows-1 --overwrite csi-proxy-agent=original", both, nil},
		{"kubectl label nodes -l kubernetes.io/os=windows --overwrite csi-proxy-agent=rebuilt", nil, both},
		{"kubectl -n kube-system delete daemonset", nil, both},
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], after.command) {
			t.Fatalf("the steps are %q, want %s at %d", lines, after.command, i)
		}
		c.command(t, lines[i])
		c.runsOn(t, "kube-system", "csi-proxy", after.original...)
		c.runsOn(t, agents, "csi-proxy", after.ours...)
		if strings.Contains(lines[i], " patch ") {
			c.isBound(t)
		}
	}
	c.kubectl(t, "taint", "nodes", "--selector=kubernetes.io/os=windows", taint+"=windows:NoSchedule")
	c.kubectl(t, "label", "nodes", "--all", "csi-proxy-agent-")
	c.kubectl(t, "--namespace=kube-system", "delete", "serviceaccount", "default")
}

// isBound waits until all pods of the original have been replaced by those that are bound to the label.
func (c *cluster) isBound(t *testing.T) {
	t.Helper()
	eventually(t, "pods that are bound to the label", func(context.Context) (string, string, error) {
		return c.kubectl(t, "--namespace=kube-system", "get", "pods", "--selector=name=csi-proxy", "--output=jsonpath={.items[*].spec.nodeSelector.csi-proxy-agent}"), "original original", nil
	})
}

// command types a command of a document, or several.
func (c *cluster) command(t *testing.T, script string) {
	t.Helper()
	t.Logf("%s\n%s", strings.TrimSpace(script), c.run(t, "bash", "-euc", script))
}
