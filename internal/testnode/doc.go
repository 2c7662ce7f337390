// SPDX-License-Identifier: Apache-2.0

// Package testnode is csiproxytest for this repository's own tests, which may look inside: it adds the agent, the
// emulated node, and faults in kernel calls by the names of package win32.
package testnode
