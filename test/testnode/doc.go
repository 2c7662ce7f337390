// SPDX-License-Identifier: Apache-2.0

// Package testnode gives a test an agent on an emulated node of its own, clients on its real sockets, and faults in its
// kernel calls.
package testnode
