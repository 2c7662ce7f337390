// SPDX-License-Identifier: Apache-2.0

// Package operation proves what an operator does with an agent and sees of it: agents as processes on the machine's
// real endpoints, upgrades and downgrades under working drivers, clients that work with every version of the agent, and
// the metrics, health, dashboard and alerts of a running one.
package operation
