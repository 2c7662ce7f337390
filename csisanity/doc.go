// SPDX-License-Identifier: Apache-2.0

// Package csisanity runs csi-sanity, the conformance suite of the Container Storage Interface, against the node plugin
// of a CSI driver on an emulated Windows node. It brings what csi-sanity wants besides the plugin: a controller whose
// volumes are disks or shares of the node, and kubelet's directories on it. The test of a plugin for disks is
//
//	func TestSanity(t *testing.T) {
//		node := csiproxytest.Start(t, csiproxytest.Options{})
//		plugin := newPlugin(node.Client(), "node-1") // registers the plugin's identity and node services
//		csisanity.Run(t, csisanity.Suite{Plugin: csisanity.Serve(t, plugin.register), Node: node, Volumes: csisanity.Disks()})
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
