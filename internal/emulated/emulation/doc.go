// SPDX-License-Identifier: Apache-2.0

// Package emulation runs an agent on an emulated node: around the agent of real nodes it puts the journal and the
// faults of the node's calls, and beside it the node's control, a second service of the admin endpoint.
package emulation
