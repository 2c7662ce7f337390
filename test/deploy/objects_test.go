// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// decode reads the objects of a manifest as the API server does under strict field validation: an unknown or repeated
// field is an error. What else the server would not accept, test/apiserver asks a real one each week.
func decode(t *testing.T, manifest []byte) []runtime.Object {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoringv1.AddToScheme} {
		ok(t, add(known))
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known,
		json.SerializerOptions{Yaml: true, Strict: true})
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var objects []runtime.Object
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		ok(t, err)
		if isEmpty(document) {
			continue
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		objects = append(objects, object)
	}
}

// isEmpty reports whether a YAML document has only comments and blank lines.
func isEmpty(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// only returns the one object of a type.
func only[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of the type %T, want one", len(found), *new(T))
	}
	return found[0]
}

// daemonSet returns the one DaemonSet among objects, checked for what decoding alone does not show.
func daemonSet(t *testing.T, objects []runtime.Object) *appsv1.DaemonSet {
	t.Helper()
	found := only[*appsv1.DaemonSet](t, objects)
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok && labels.SelectorFromSet(found.Spec.Selector.MatchLabels).Matches(
			labels.Set(pod.Labels)) {
			t.Errorf("the DaemonSet %s selects the pod %s, and would take it for one of its own", found.Name, pod.Name)
		}
	}
	checkDaemonSet(t, found)
	return found
}

// checkDaemonSet checks what every pod of ours has.
func checkDaemonSet(t *testing.T, d *appsv1.DaemonSet) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if pod.OS == nil || pod.OS.Name != corev1.Windows || pod.NodeSelector[corev1.LabelOSStable] != "windows" {
		t.Errorf("os %v and node selector %v, want Windows nodes only", pod.OS, pod.NodeSelector)
	}
	for _, container := range append(pod.InitContainers, pod.Containers...) {
		if container.Image == "" || container.Resources.Requests.Memory().IsZero() ||
			container.Resources.Limits.Memory().IsZero() {
			t.Errorf("container %s has image %q, requests %v, limits %v; want all three", container.Name, container.Image,
				container.Resources.Requests, container.Resources.Limits)
		}
	}
}

func hostProcess(pod corev1.PodSpec) bool {
	s := pod.SecurityContext
	return s != nil && s.WindowsOptions != nil && s.WindowsOptions.HostProcess != nil && *s.WindowsOptions.HostProcess
}
