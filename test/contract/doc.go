// SPDX-License-Identifier: Apache-2.0

// Package contract proves what a CSI driver in the field may rely on: the rules of the API, what a driver sees of its
// node's misfortunes and that its retry puts things right, and which kernel calls each method makes.
//
// Each rule is tested through real clients on the real sockets of an agent on an emulated node. The misfortune tests
// know about the node only what package csiproxytest offers to the tests of any driver. The kernel calls of each method
// are in testdata, one file per group, so that a needless or missing call shows in review:
//
//	go test ./test/contract -run KernelCalls -update
//
// rewrites them.
package contract
