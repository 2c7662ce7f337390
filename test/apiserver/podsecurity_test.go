// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// podSecurity has what Pod Security's library says of every pod, written by test/deploy.
const podSecurity = "test/deploy/testdata/pod-security.txt"

// The server refuses and admits the pods of every manifest and rendering in namespaces of the three levels, with the
// words of podSecurity.
func testPodSecurity(t *testing.T, c *cluster) {
	levels := []string{"privileged", "baseline", "restricted"}
	for _, level := range levels {
		c.kubectl(t, "", "create", "namespace", level)
		c.kubectl(t, "", "label", "namespace", level, "pod-security.kubernetes.io/enforce="+level)
	}
	var got strings.Builder
	first, _, _ := strings.Cut(read(t, podSecurity), "\n")
	fmt.Fprintln(&got, first)
	check := func(source, manifest string) {
		for _, object := range decode(t, read(t, manifest)) {
			var kind string
			pod := &corev1.Pod{}
			switch object := object.(type) {
			case *appsv1.DaemonSet:
				kind = "pods of DaemonSet " + object.Name
				pod.ObjectMeta, pod.Spec = object.Spec.Template.ObjectMeta, object.Spec.Template.Spec
				pod.Name = object.Name
			case *corev1.Pod:
				kind, pod = "pod "+object.Name, object
			default:
				continue
			}
			fmt.Fprintf(&got, "\n%s: %s\n", source, kind)
			for _, level := range levels {
				fmt.Fprintf(&got, "  %s: %s\n", level, c.admission(t, level, pod))
			}
		}
	}
	for _, manifest := range glob(t, "deploy/kubernetes/*.yaml") {
		check(manifest, manifest)
	}
	for _, rendering := range glob(t, "test/deploy/testdata/chart/*.golden.yaml") {
		check("chart, "+strings.TrimSuffix(path.Base(rendering), ".golden.yaml")+".values.yaml", rendering)
	}
	if diff := cmp.Diff(read(t, podSecurity), got.String()); diff != "" {
		t.Errorf("%s - the server's words +:\n%s", podSecurity, diff)
	}
	for _, level := range levels {
		c.deleteNamespace(t, level)
	}
}

// admission creates a pod, if the server lets it, and returns why not, or "admitted".
func (c *cluster) admission(t *testing.T, namespace string, pod *corev1.Pod) string {
	t.Helper()
	pod = pod.DeepCopy()
	pod.Namespace = namespace
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.ServiceAccountName}}
	if _, err := c.client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account,
		metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	_, err := c.client.CoreV1().Pods(namespace).Create(t.Context(), pod,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err == nil {
		if err := c.client.CoreV1().Pods(namespace).Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil &&
			!apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return "admitted"
	}
	reason, isPodSecurity := strings.CutPrefix(err.Error(), fmt.Sprintf("pods %q is forbidden: violates PodSecurity %q: ",
		pod.Name, namespace+":latest"))
	if !isPodSecurity {
		t.Errorf("pod %s in %s: %v", pod.Name, namespace, err)
	}
	return reason
}

// decode returns the objects of a manifest that are Kubernetes' own.
func decode(t *testing.T, manifest string) (objects []runtime.Object) {
	t.Helper()
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		switch {
		case runtime.IsNotRegisteredError(err): // a kind of the Prometheus operator
		case runtime.IsMissingKind(err): // only a comment
		case err != nil:
			t.Fatalf("%v in\n%s", err, document)
		default:
			objects = append(objects, object)
		}
	}
}
