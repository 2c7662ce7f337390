// SPDX-License-Identifier: Apache-2.0

// Package agent runs a node agent: it opens the layers, serves the API and the admin endpoint, reboots an emulated node
// under them, drains and stops. A process may run several agents.
package agent
