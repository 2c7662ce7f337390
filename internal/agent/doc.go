// SPDX-License-Identifier: Apache-2.0

// Package agent runs a node agent: it opens the layers, serves the API and the admin endpoint, drains and stops. A
// process may run several agents. Package emulation runs one on an emulated node.
package agent
