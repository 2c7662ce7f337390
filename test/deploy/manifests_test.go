// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// exampleDriver is the manifest of the example driver.
const exampleDriver = "examples/csi-driver/driver.yaml"

func TestManifests(t *testing.T) {
	for _, file := range append(matching(t, "deploy/kubernetes/*.yaml"), exampleDriver) {
		t.Run(filepath.Base(file), func(t *testing.T) { daemonSet(t, decode(t, read(t, file))) })
	}
}

// A pipe is mounted under the node's own name for it, and kubelet does not look for a file of that name.
func TestDriversMountPipes(t *testing.T) {
	var all []string
	for group, versions := range apis(t) {
		for _, version := range versions {
			all = append(all, "csi-proxy-"+group+"-"+version)
		}
	}
	slices.Sort(all)
	tests := []struct {
		file string
		want []string
	}{
		{"deploy/kubernetes/driver-all-pipes.yaml", all},
		{"deploy/kubernetes/driver-minimal.yaml", []string{"csi-proxy-disk-v1", "csi-proxy-filesystem-v1",
			"csi-proxy-volume-v1"}},
		{exampleDriver, served(t, "examples/csi-driver/agent-values.yaml")},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			pod := daemonSet(t, decode(t, read(t, test.file))).Spec.Template.Spec
			if hostProcess(pod) {
				t.Error("the driver is HostProcess: such a container can mount no pipe, and needs none")
			}
			paths := map[string]string{}
			for _, volume := range pod.Volumes {
				if source := volume.HostPath; source != nil && strings.HasPrefix(source.Path, `\\`) {
					if source.Type == nil || *source.Type != corev1.HostPathUnset {
						t.Errorf("volume %s has type %v, want the empty one", volume.Name, source.Type)
					}
					paths[volume.Name] = source.Path
				}
			}
			var got []string
			for _, container := range pod.Containers {
				for _, mount := range container.VolumeMounts {
					path, isPipe := paths[mount.Name]
					if !isPipe {
						continue
					}
					if mount.MountPath != path || path != `\\.\pipe\`+mount.Name {
						t.Errorf("pipe %s is mounted from %s at %s", mount.Name, path, mount.MountPath)
					}
					got = append(got, mount.Name)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mounted pipes, want - got +:\n%s", diff)
			}
			if len(paths) != len(got) {
				t.Errorf("%d pipes are volumes and %d are mounted", len(paths), len(got))
			}
		})
	}
}

// served returns the pipes that the agent serves with a file of values for the chart.
func served(t *testing.T, values string) []string {
	t.Helper()
	var pipes []string
	for _, arg := range daemonSet(t,
		decode(t, template(t, required, "--values", filepath.Join(root, values)))).Spec.Template.Spec.Containers[0].Args {
		group, versions, isAPI := strings.Cut(strings.TrimPrefix(arg, "-api="), "=")
		if !isAPI || !strings.HasPrefix(arg, "-api=") || versions == "off" {
			continue
		}
		for _, version := range strings.Split(versions, ",") {
			pipes = append(pipes, "csi-proxy-"+group+"-"+version)
		}
	}
	slices.Sort(pipes)
	return pipes
}

// The plain manifests equal the chart's defaults.
func TestAgentManifestIsTheChartsDefault(t *testing.T) {
	manifest := daemonSet(t, decode(t, read(t, "deploy/kubernetes/agent-hostprocess.yaml")))
	objects := decode(t, template(t, required))
	chart := daemonSet(t, objects)
	if diff := cmp.Diff(chart.Spec.Template.Spec, manifest.Spec.Template.Spec); diff != "" {
		t.Errorf("pods, chart - manifest +:\n%s", diff)
	}
	if diff := cmp.Diff(chart.Spec.UpdateStrategy, manifest.Spec.UpdateStrategy); diff != "" {
		t.Errorf("update strategy, chart - manifest +:\n%s", diff)
	}
	account := only[*corev1.ServiceAccount](t, objects)
	if diff := cmp.Diff(account.AutomountServiceAccountToken, new(bool)); diff != "" {
		t.Errorf("automountServiceAccountToken of the chart's account:\n%s", diff)
	}
}
