// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"context"
	"path"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// agents is the namespace of the documents and of the agent's manifest.
const agents = "csi-proxy"

// Every manifest is created, strictly, and its pods run on the Windows nodes and only there; applied again it changes
// nothing; and where two have the same name, one becomes the other. The agent's brings its own namespace, with the
// label.
func testManifests(t *testing.T, c *cluster) {
	last := map[string]string{} // the manifest before, by the name of its DaemonSet
	for _, manifest := range append(glob(t, "deploy/kubernetes/*.yaml"), "examples/csi-driver/driver.yaml") {
		ok := t.Run(path.Base(manifest), func(t *testing.T) {
			t.Log(c.kubectl(t, "create", "--validate=strict", "-f", manifest))
			namespace, name := c.daemonSet(t)
			c.runsOn(t, namespace, name, windowsNodes...)
			c.kubectl(t, "diff", "--server-side", "--force-conflicts", "-f", manifest) // fails if anything would change
			c.kubectl(t, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", manifest)
			c.remove(t, namespace, manifest)
			if before := last[name]; before != "" {
				c.kubectl(t, "apply", "--server-side", "-f", before)
				t.Log("upgrade from ", path.Base(before), ":\n",
					c.kubectl(t, "apply", "--server-side", "--dry-run=server", "-f", manifest))
				c.kubectl(t, "apply", "--server-side", "-f", manifest)
				c.kubectl(t, "-n", namespace, "rollout", "status", "daemonset/"+name, "--timeout="+testTimeout.String())
				c.remove(t, namespace, manifest)
			}
			last[name] = manifest
		})
		if !ok {
			return // what is left would be blamed on the next
		}
	}
}

// remove deletes what a manifest has created, and waits until its pods are gone, too. An object may have gone with its
// namespace.
func (c *cluster) remove(t *testing.T, namespace, manifest string) {
	t.Helper()
	c.kubectl(t, "delete", "--ignore-not-found", "-f", manifest)
	c.isGone(t, namespace)
}

// agentsNamespace makes the agents' namespace as docs/install.md does.
func (c *cluster) agentsNamespace(t *testing.T) {
	t.Helper()
	c.kubectl(t, "create", "namespace", agents)
	c.kubectl(t, "label", "namespace", agents, "pod-security.kubernetes.io/enforce=privileged")
}

// deleteNamespace deletes a namespace and waits until it is gone.
func (c *cluster) deleteNamespace(t *testing.T, name string) {
	t.Helper()
	c.kubectl(t, "delete", "namespace", name, "--timeout="+testTimeout.String())
}

// daemonSet returns the namespace and the name of the one DaemonSet of the cluster.
func (c *cluster) daemonSet(t *testing.T) (namespace, name string) {
	t.Helper()
	sets, err := c.client.AppsV1().DaemonSets("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("%d DaemonSets, %v", len(sets.Items), err)
	}
	return sets.Items[0].Namespace, sets.Items[0].Name
}

// isGone waits until a namespace has neither DaemonSets nor pods.
func (c *cluster) isGone(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "what is left in "+namespace, func(context.Context) (string, string, error) {
		return c.kubectl(t, "--namespace="+namespace, "get", "daemonsets,pods", "--output=name"), "", nil
	})
}
