// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// The API server's own admission decides about the pods of every manifest and of the chart with every set of values, at
// each level of the Pod Security Standards. testdata/pod-security.txt has its words; docs/install.md tells which label
// a namespace needs.
func TestPodSecurity(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	ok(t, err)
	var got strings.Builder
	got.WriteString("# What Pod Security admission says of each pod, by the level of the namespace; -update " +
		"rewrites it.\n")
	check := func(source string, objects []runtime.Object) {
		for _, object := range objects {
			var kind string
			var spec corev1.PodSpec
			var meta metav1.ObjectMeta
			switch object := object.(type) {
			case *appsv1.DaemonSet:
				kind, meta, spec = "pods of DaemonSet "+object.Name, object.Spec.Template.ObjectMeta, object.Spec.Template.Spec
			case *corev1.Pod:
				kind, meta, spec = "pod "+object.Name, object.ObjectMeta, object.Spec
			default:
				continue
			}
			fmt.Fprintf(&got, "\n%s: %s\n", source, kind)
			for _, level := range []api.Level{api.LevelPrivileged, api.LevelBaseline, api.LevelRestricted} {
				result := policy.AggregateCheckResults(
					evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &meta, &spec))
				verdict := "admitted"
				if !result.Allowed {
					verdict = result.ForbiddenDetail()
				}
				fmt.Fprintf(&got, "  %s: %s\n", level, verdict)
			}
		}
	}
	for _, file := range matching(t, "deploy/kubernetes/*.yaml") {
		check(file, decode(t, read(t, file)))
	}
	for _, file := range matching(t, valuesFiles) {
		check("chart, "+filepath.Base(file), decode(t, template(t, file)))
	}
	isGolden(t, "test/deploy/testdata/pod-security.txt", got.String())
}
