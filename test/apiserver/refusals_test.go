// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"slices"
	"strings"
	"testing"
)

// The server refuses mistakes in the agent's manifest, and says why; so the other parts would see them.
func testRefusals(t *testing.T, c *cluster) {
	c.agentsNamespace(t)
	content := withoutNamespace(t, read(t, agentManifest))
	const network = "      hostNetwork: true\n"
	for by, want := range map[string]string{
		"":                                "hostNetwork must be true if pod contains any hostProcess containers",
		network + "      hostPID: true\n": "spec.template.spec.hostPID: Forbidden: cannot be set for a windows pod",
	} {
		c.refuses(t, replaced(t, content, network, by), want, "create")
	}
	manifest := write(t, "agent.yaml", content)
	c.kubectl(t, "", "create", "-f", manifest)
	c.refuses(t, replaced(t, content, "app.kubernetes.io/name: csi-proxy", "app.kubernetes.io/name: proxy"),
		"field is immutable", "apply", "--server-side", "--force-conflicts")
	c.remove(t, agents, manifest)
	// A server without the flag.
	kubeconfig := startAPIServer(t, c.programs, t.TempDir(), c.etcd)
	other := &cluster{env: append(slices.Clone(c.env), "KUBECONFIG="+kubeconfig)}
	other.refuses(t, content, "hostProcess containers are disallowed by cluster policy", "create")
	c.deleteNamespace(t, agents)
}

// refuses tries a manifest, and the server must say why it does not take it.
func (c *cluster) refuses(t *testing.T, manifest, want string, args ...string) {
	t.Helper()
	stdout, stderr, err := c.run(t, manifest, "kubectl",
		append(args, "--validate=strict", "--dry-run=server", "-f", "-")...)
	if err == nil || !strings.Contains(stderr, want) {
		t.Errorf("%v, want %q in\n%s%s", err, want, stderr, stdout)
	}
	t.Log(stderr)
}

func replaced(t *testing.T, content, old, by string) string {
	t.Helper()
	changed := strings.ReplaceAll(content, old, by)
	if changed == content {
		t.Fatalf("the manifest has no %q", old)
	}
	return changed
}

// withoutNamespace returns the agent's manifest without the namespace that it brings.
func withoutNamespace(t *testing.T, manifest string) string {
	t.Helper()
	namespace, rest, found := strings.Cut(manifest, "\n---\n")
	if !found || !strings.Contains(namespace, "\nkind: Namespace\n") {
		t.Fatalf("the manifest begins with\n%s", namespace)
	}
	return rest
}
