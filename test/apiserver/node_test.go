// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
)

// A hollowNodes plays the scheduler and every node's kubelet: a pod gets the node that it asks for, runs at once and is
// ready, or has succeeded if it is one that ends; a pod that is deleted is gone. No container runs.
type hollowNodes struct {
	client kubernetes.Interface
}

// watch calls see for each pod whenever it changes, and again every resync of the factory, since what failed is tried
// again.
func (h *hollowNodes) watch(ctx context.Context, factory informers.SharedInformerFactory) error {
	see := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok || ctx.Err() != nil {
			return
		}
		if err := h.see(ctx, pod); err != nil && !apierrors.IsNotFound(err) &&
			!apierrors.IsConflict(err) && ctx.Err() == nil {
			klog.ErrorS(err, "Hollow node", "pod", klog.KObj(pod))
		}
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, object any) { see(object) },
	})
	return err
}

func (h *hollowNodes) see(ctx context.Context, pod *corev1.Pod) error {
	pods := h.client.CoreV1().Pods(pod.Namespace)
	switch {
	case pod.DeletionTimestamp != nil:
		return pods.Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	case pod.Spec.NodeName == "":
		name, err := h.choose(ctx, pod)
		if name == "" || err != nil {
			return err // pending, as with the real scheduler
		}
		return pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
			Target: corev1.ObjectReference{Kind: "Node", Name: name}}, metav1.CreateOptions{})
	case pod.Status.Phase == corev1.PodPending:
		pod = pod.DeepCopy()
		pod.Status.Phase = corev1.PodRunning
		ready := corev1.ConditionTrue
		if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
			pod.Status.Phase, ready = corev1.PodSucceeded, corev1.ConditionFalse
		}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready,
			LastTransitionTime: metav1.Now()})
		_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	}
	return nil
}

// choose returns the node that a DaemonSet made a pod for, or one that a pod's selector selects.
func (h *hollowNodes) choose(ctx context.Context, pod *corev1.Pod) (string, error) {
	if name, err := daemonutil.GetTargetNodeName(pod); err == nil {
		return name, nil
	}
	nodes, err := h.client.CoreV1().Nodes().List(ctx,
		metav1.ListOptions{LabelSelector: labels.Set(pod.Spec.NodeSelector).String()})
	if err != nil || len(nodes.Items) == 0 {
		return "", err
	}
	return nodes.Items[0].Name, nil
}

// serveLogs answers for every kubelet what a container has logged, and returns where.
func serveLogs(t *testing.T) *net.TCPAddr {
	t.Helper()
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "no container runs: "+r.URL.Path+"\n")
	}))
	t.Cleanup(kubelet.Close)
	return kubelet.Listener.Addr().(*net.TCPAddr)
}
