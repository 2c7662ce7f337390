// SPDX-License-Identifier: Apache-2.0

// Package contract tests what CSI drivers in the field rely on, each rule through real clients on real sockets of an
// agent on an emulated node.
package contract
