// SPDX-License-Identifier: Apache-2.0

// Package windows gives the tests control of a real Windows machine, past the agent: virtual disks, a share, an iSCSI
// target, an agent as a process of its own. The lives of test/conformance are lived on it, and its own tests ask the
// machine the questions that Microsoft's pages leave open and log the answers.
//
// It changes the machine that it runs on, and belongs on one that is thrown away. Code that does not need Windows is
// portable and tried on the emulated node.
package windows
