// SPDX-License-Identifier: Apache-2.0

// Command csi-proxyctl calls a CSI Proxy agent from the command line, looks at its node, finds out what is wrong with
// it, and plays the hardware of an emulated node.
package main
