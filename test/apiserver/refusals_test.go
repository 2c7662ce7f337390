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
	tests := []struct {
		name     string
		old, new string // in the manifest
		want     string
	}{
		{"a misspelt field", "      hostNetwork: true\n", "      hostNetworks: true\n",
			`unknown field "spec.template.spec.hostNetworks"`},
		{"not on the host's network", "      hostNetwork: true\n", "",
			"hostNetwork must be true if pod contains any hostProcess containers"},
		{"what only Linux has", "      hostNetwork: true\n", "      hostNetwork: true\n      hostPID: true\n",
			"spec.template.spec.hostPID: Forbidden: cannot be set for a windows pod"},
		{"one container apart", "          imagePullPolicy:",
			"          securityContext: {windowsOptions: {hostProcess: false}}\n          imagePullPolicy:",
			"pod hostProcess value must be identical if both are specified"},
		{"a user of three parts", `NT AUTHORITY\SYSTEM`, `NT\AUTHORITY\SYSTEM`,
			"runAsUserName cannot contain more than one backslash"},
		{"another port outside", "hostPort: 29660", "hostPort: 29661",
			"must match `containerPort` when `hostNetwork` is true"},
		{"two agents at once", "      maxUnavailable: 1\n", "      maxUnavailable: 1\n      maxSurge: 1\n",
			"may not be set when maxUnavailable is non-zero"},
		{"less than is asked for", "limits: {memory: 256Mi}", "limits: {memory: 32Mi}",
			"must be less than or equal to memory limit"},
		{"another selector", "    matchLabels: *labels\n", "    matchLabels: {app.kubernetes.io/name: proxy}\n",
			"`selector` does not match template `labels`"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c.refuses(t, replaced(t, content, test.old, test.new), test.want, "create")
		})
	}
	manifest := write(t, "agent.yaml", content)
	c.kubectl(t, "", "create", "-f", manifest)
	t.Run("another selector in an upgrade", func(t *testing.T) {
		c.refuses(t, replaced(t, content, "app.kubernetes.io/name: csi-proxy", "app.kubernetes.io/name: proxy"),
			"field is immutable", "apply", "--server-side", "--force-conflicts")
	})
	c.remove(t, agents, manifest)
	t.Run("a server without the flag", func(t *testing.T) {
		kubeconfig := startAPIServer(t, c.programs, t.TempDir(), c.etcd)
		other := &cluster{env: append(slices.Clone(c.env), "KUBECONFIG="+kubeconfig)}
		other.refuses(t, content, "hostProcess containers are disallowed by cluster policy", "create")
	})
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
