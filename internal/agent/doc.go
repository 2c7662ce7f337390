// SPDX-License-Identifier: Apache-2.0

// Package agent puts a node agent together: a kernel, the node's operations on it, the endpoints that serve them, and
// the admin endpoint beside them. A process may run several agents.
package agent
