// SPDX-License-Identifier: Apache-2.0

// Package admin is the admin endpoint of an agent: what is served, the storage tree, what leads nowhere or hangs, and, where
// the node is an emulated one, its control, its faults and the journal of its calls.
package admin
