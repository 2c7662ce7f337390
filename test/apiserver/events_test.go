// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// refused is the namespace that admits none of our pods; only there a controller may have something to complain about.
const refused = "refused"

// events has the events of the whole run: those of a namespace go with it.
type events struct {
	mu   sync.Mutex
	seen map[string]int // how often, by the text without what differs from run to run
}

func (e *events) watch(factory informers.SharedInformerFactory) error {
	e.seen = map[string]int{}
	generated := regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`) // the letters of generated names
	_, err := factory.Core().V1().Events().Informer().AddEventHandler(
		cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
			if event, ok := object.(*corev1.Event); ok {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.seen[fmt.Sprintf("%s %s: %s %s: %s", event.Namespace, event.InvolvedObject.Kind, event.Type, event.Reason,
					generated.ReplaceAllString(event.Message, "-*"))]++
			}
		}})
	return err
}

// all returns the events, in order.
func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, text := range slices.Sorted(maps.Keys(e.seen)) {
		lines = append(lines, fmt.Sprintf("%3d × %s", e.seen[text], text))
	}
	return lines
}

// Where the namespace does not admit the pods, the server warns, the DaemonSet's events have the server's words, and
// with the label of docs/install.md the pods come. Nothing else that ran before has made a controller complain.
func testEvents(t *testing.T, c *cluster) {
	c.kubectl(t, "", "create", "namespace", refused)
	c.kubectl(t, "", "label", "namespace", refused, "pod-security.kubernetes.io/enforce=baseline",
		"pod-security.kubernetes.io/warn=restricted")
	manifest := write(t, "refused.yaml", strings.ReplaceAll(withoutNamespace(t, read(t, agentManifest)),
		"namespace: csi-proxy", "namespace: "+refused))
	_, stderr, err := c.run(t, "", "kubectl", "create", "-f", manifest)
	if want := `Warning: would violate PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`; err != nil ||
		!strings.HasPrefix(stderr, want) {
		t.Fatalf("%v, want %q in\n%s", err, want, stderr)
	}
	t.Log(stderr)
	eventually(t, "events in "+refused, func(context.Context) (string, string, error) {
		const want = `refused DaemonSet: Warning FailedCreate: Error creating: pods "csi-proxy-*" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`
		all := strings.Join(c.events.all(), "\n")
		if strings.Contains(all, want) {
			all = want
		}
		return all, want, nil
	})
	c.kubectl(t, "", "label", "--overwrite", "namespace", refused, "pod-security.kubernetes.io/enforce=privileged")
	c.runsOn(t, refused, "csi-proxy", windowsNodes...)
	c.remove(t, refused, manifest)
	c.deleteNamespace(t, refused)

	all := c.events.all()
	t.Logf("events of the run:\n%s", strings.Join(all, "\n"))
	for _, event := range all {
		if strings.Contains(event, " Warning ") && !strings.Contains(event, " "+refused+" ") {
			t.Errorf("a controller complains: %s", event)
		}
	}
}
