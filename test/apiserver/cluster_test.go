// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// windowsNodes are those that agents and drivers must run on.
var windowsNodes = []string{"windows-1", "windows-2"}

// A cluster is an API server with etcd, the controllers that matter here, and nodes that are played.
type cluster struct {
	client  kubernetes.Interface
	env     []string       // of kubectl and Helm
	running sync.WaitGroup // the controllers
}

func startCluster(t *testing.T, programs string) *cluster {
	t.Helper()
	programs, err := filepath.Abs(programs)
	ok(t, err)
	dir := t.TempDir()
	kubeconfig := startAPIServer(t, programs, dir, startEtcd(t, programs, dir))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	ok(t, err)
	config.QPS = -1 // the server is the test's alone
	client, err := kubernetes.NewForConfig(config)
	ok(t, err)
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	c := &cluster{client: client, env: append(os.Environ(),
		"KUBECONFIG="+kubeconfig,
		// Neither sees settings of this machine's user.
		"HOME="+dir, "HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)}

	logTo(t, filepath.Join(dir, "controllers.log"))
	// Before the servers go, whatever talks to them ends.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		c.running.Wait()
	})
	c.addNodes(t)
	c.startControllers(ctx, t, config)
	// The documents expect these objects in the cluster.
	c.kubectl(t, "create", "priorityclass", "csi-node-critical", "--value=1000000")
	for _, crd := range monitoringCRDs(t) {
		c.kubectl(t, "create", "-f", crd)
		c.kubectl(t, "wait", "--for=condition=Established", "--timeout="+testTimeout.String(), "-f", crd)
	}
	return c
}

// logTo sends what the controllers log to a file, whose end a failed test shows.
func logTo(t *testing.T, path string) {
	t.Helper()
	log, err := os.Create(path)
	ok(t, err)
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	t.Cleanup(func() {
		klog.ClearLogger()
		showEnd(t, path)
	})
}

// addNodes adds two nodes with Windows, tainted as providers do, and one with Linux.
func (c *cluster) addNodes(t *testing.T) {
	t.Helper()
	kubelet := serveLogs(t)
	for _, name := range append([]string{"linux-1"}, windowsNodes...) {
		system, _, _ := strings.Cut(name, "-")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name,
			corev1.LabelOSStable: system, corev1.LabelArchStable: "amd64"}}}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: kubelet.IP.String()}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet.AddrPort().Port())
		added, err := c.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		ok(t, err)
		// The server makes a new node not ready by a taint, which a controller removes when kubelet is.
		added.Spec.Taints = nil
		if system == "windows" {
			added.Labels[corev1.LabelWindowsBuild] = "10.0.20348"
			added.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/os", Value: system,
				Effect: corev1.TaintEffectNoSchedule}}
		}
		_, err = c.client.CoreV1().Nodes().Update(t.Context(), added, metav1.UpdateOptions{})
		ok(t, err)
	}
}

// startControllers starts Kubernetes' own controllers of DaemonSets, of namespaces and of what has lost its owner.
func (c *cluster) startControllers(ctx context.Context, t *testing.T, config *rest.Config) {
	t.Helper()
	client := c.client
	objects, err := metadata.NewForConfig(config)
	ok(t, err)
	factory := informers.NewSharedInformerFactory(client, 0)
	daemons, err := daemon.NewDaemonSetsController(ctx, factory.Apps().V1().DaemonSets(),
		factory.Apps().V1().ControllerRevisions(), factory.Core().V1().Pods(), factory.Core().V1().Nodes(), client,
		flowcontrol.NewBackOff(time.Second, 10*time.Second))
	ok(t, err)
	namespaces := namespace.NewNamespaceController(ctx, client, objects,
		client.Discovery().ServerPreferredNamespacedResources, factory.Core().V1().Namespaces(), time.Minute,
		corev1.FinalizerKubernetes)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	started := make(chan struct{})
	garbage, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(factory, metadatainformer.NewSharedInformerFactory(objects, 0)), started)
	ok(t, err)
	played := informers.NewSharedInformerFactory(client, time.Second)
	ok(t, (&hollowNodes{client}).watch(ctx, played))
	factory.Start(ctx.Done())
	played.Start(ctx.Done())
	close(started)
	c.running.Go(func() { daemons.Run(ctx, 2) })
	c.running.Go(func() { namespaces.Run(ctx, 2) })
	c.running.Go(func() { garbage.Run(ctx, 2, testTimeout) })
	c.running.Go(func() { garbage.Sync(ctx, client.Discovery(), 5*time.Second) })
}

// run runs a program in the repository's root, where a reader of the documents is, and returns what it says. It must
// succeed and have nothing to say on standard error, where kubectl and Helm print warnings.
func (c *cluster) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir, command.Env, command.Stderr = root, c.env, &stderr
	stdout, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, &stderr, stdout)
	}
	return string(stdout)
}

func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return c.run(t, "kubectl", args...)
}

// eventually waits until a state is what it should be.
func eventually(t *testing.T, what string, state func(context.Context) (got, want string, err error)) {
	t.Helper()
	var got, want string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testTimeout, true,
		func(ctx context.Context) (done bool, err error) {
			got, want, err = state(ctx)
			return err == nil && got == want, err
		})
	if err != nil {
		t.Fatalf("%s: %s, want %s: %v", what, got, want, err)
	}
}

// runsOn waits until exactly the pods of a DaemonSet run in a namespace, one on each of the nodes.
func (c *cluster) runsOn(t *testing.T, namespace, daemonSet string, nodes ...string) {
	t.Helper()
	var want []string
	for _, node := range nodes {
		want = append(want, fmt.Sprintf("%s on %s", daemonSet, node))
	}
	eventually(t, "pods in "+namespace, func(ctx context.Context) (string, string, error) {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", "", err
		}
		var running []string
		for _, pod := range pods.Items {
			if owner := metav1.GetControllerOf(&pod); owner != nil && pod.DeletionTimestamp == nil &&
				pod.Status.Phase == corev1.PodRunning {
				running = append(running, fmt.Sprintf("%s on %s", owner.Name, pod.Spec.NodeName))
			}
		}
		slices.Sort(running)
		return strings.Join(running, ", "), strings.Join(want, ", "), nil
	})
}

// monitoringCRDs returns the definitions of the Prometheus operator's kinds that the chart uses, from the operator's
// module. Only files of it are read, so it is in no go.mod: it would decide about the versions of what is built.
func monitoringCRDs(t *testing.T) []string {
	t.Helper()
	const operator = "github.com/prometheus-operator/prometheus-operator@v0.94.1"
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", operator)
	download.Dir, download.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := download.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", operator, err, out)
	}
	var module struct{ Dir, Sum string }
	ok(t, json.Unmarshal(out, &module))
	if want := "h1:QEIb2wenPH+SdMN1xMf8l4Pmj00YYXXI6HlbLlQWkww="; module.Sum != want { // as in a go.sum
		t.Fatalf("%s has the sum %s, want %s", operator, module.Sum, want)
	}
	folder := filepath.Join(module.Dir, "example", "prometheus-operator-crd")
	return []string{filepath.Join(folder, "monitoring.coreos.com_podmonitors.yaml"),
		filepath.Join(folder, "monitoring.coreos.com_prometheusrules.yaml")}
}
