// SPDX-License-Identifier: Apache-2.0

// Package csisanity runs csi-sanity, the conformance suite of the Container Storage Interface, against the node plugin
// of a CSI driver on a node of package csiproxytest, an emulated one or a Windows machine. It brings what csi-sanity
// wants besides the plugin: a controller whose volumes are disks or shares of the node, and kubelet's directories on
// it. The test of a plugin for disks is
//
//	func TestSanity(t *testing.T) {
//		node := csiproxytest.Start(t, csiproxytest.Options{})
//		plugin := newPlugin(node.Client(), "node-1") // registers the plugin's identity and node services
//		csisanity.Run(t, csisanity.Suite{
//			Plugin: csisanity.Serve(t, plugin.register), Node: node, Volumes: csisanity.Disks(),
//		})
//	}
//
// The plugin's GetPluginCapabilities must have CONTROLLER_SERVICE, because csi-sanity otherwise skips what needs
// volumes.
//
// Package mounter/csicode turns the errors of the mounter and of the agent into the codes that the specification
// asks for. It is for the plugin itself.
//
// The module is separate because only it needs the dependencies of csi-sanity.
package csisanity

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// A Suite is one run of csi-sanity's specs.
type Suite struct {
	// Name tells suites apart. It may be empty if there is one.
	Name string
	// Plugin is the address of the plugin's identity and node services, as gRPC takes it: "127.0.0.1:1234",
	// "unix:/csi/csi.sock". Serve returns one.
	Plugin string
	// Node is the node on which the plugin works.
	Node Node
	// Volumes are the driver's volumes.
	Volumes Volumes
}

// Serve serves a plugin for a test and returns its address. The function registers the plugin's services.
func Serve(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	register(server)
	ended := make(chan struct{})
	go func() {
		_ = server.Serve(listener) // it ends with Stop
		close(ended)
	}()
	t.Cleanup(func() { server.Stop(); <-ended })
	return listener.Addr().String()
}

// Run runs the specs of the suites, one after the other, and returns what became of them, in the order of the suites.
// The test fails with each spec that fails; its log ends with the counts and the failures. Ginkgo, on which csi-sanity
// is built, runs once in a process: a test program can call Run once, and cannot run with a -test.count over 1.
func Run(t *testing.T, suites ...Suite) []Result {
	t.Helper()
	for _, s := range suites {
		config := s.config(t)
		ginkgo.Describe(s.Name, func() {
			suite := sanity.GinkgoTest(config)
			t.Cleanup(suite.Finalize)
		})
	}
	var report ginkgo.Report
	ginkgo.ReportAfterSuite("results", func(r ginkgo.Report) { report = r })
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed, reporter.Succinct, reporter.NoColor = 1, true, true
	gomega.RegisterFailHandler(ginkgo.Fail)
	format.RegisterCustomFormatter(inShort)
	ginkgo.RunSpecs(t, "csi-sanity", suite, reporter)
	results := make([]Result, len(suites))
	for i, s := range suites {
		if node, ok := s.Node.(*csiproxytest.Node); ok && t.Failed() {
			node.LogState() // before the results, which end the log
		}
		results[i] = resultOf(s.Name, report)
	}
	for _, r := range results {
		t.Log(r)
	}
	for _, r := range results {
		for _, failure := range r.Failures {
			t.Log("failed: " + failure)
		}
	}
	return results
}

// config makes csi-sanity's configuration for a suite, and starts its controller.
func (s Suite) config(t *testing.T) *sanity.TestConfig {
	t.Helper()
	c := &controller{node: s.Node, nodeID: s.nodeID(t), kind: s.Volumes, volumes: map[string]*volume{}}
	config := sanity.NewTestConfig()
	config.Address, config.ControllerAddress = s.Plugin, Serve(t, c.register)
	config.TestVolumeSize, config.TestVolumeExpandSize = defaultBytes, 2*defaultBytes
	if len(s.Volumes.Secrets) > 0 {
		secrets, err := json.Marshal(map[string]any{"NodeStageVolumeSecret": s.Volumes.Secrets,
			"NodePublishVolumeSecret": s.Volumes.Secrets})
		if err == nil {
			config.SecretsFile = filepath.Join(t.TempDir(), "secrets.yaml") // JSON is YAML
			err = os.WriteFile(config.SecretsFile, secrets, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kubelet{s.Node.KubeletDir(), s.Node.Client().Filesystem}.configure(&config)
	return &config
}

// nodeID asks the plugin for the node's id, and checks that it claims what the specs depend on.
func (s Suite) nodeID(t *testing.T) string {
	t.Helper()
	connection, err := grpc.NewClient(s.Plugin, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	starting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	info, err := csi.NewNodeClient(connection).NodeGetInfo(starting, &csi.NodeGetInfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatalf("asking the plugin for its node: %v", err)
	}
	claimed, err := csi.NewIdentityClient(connection).GetPluginCapabilities(t.Context(),
		&csi.GetPluginCapabilitiesRequest{})
	if err != nil {
		t.Fatalf("asking the plugin for its capabilities: %v", err)
	}
	if !slices.ContainsFunc(claimed.GetCapabilities(), func(c *csi.PluginCapability) bool {
		return c.GetService().GetType() == csi.PluginCapability_Service_CONTROLLER_SERVICE
	}) {
		t.Fatal("GetPluginCapabilities of the plugin lacks CONTROLLER_SERVICE, without which csi-sanity skips what needs " +
			"volumes: add it; csisanity has the controller")
	}
	return info.GetNodeId()
}
