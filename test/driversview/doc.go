// SPDX-License-Identifier: Apache-2.0

// Package driversview tests what a CSI driver sees of its node's misfortunes, and that its next try puts things right.
// It knows of the node only what the public package csiproxytest offers to the tests of any driver.
package driversview
