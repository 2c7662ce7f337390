// SPDX-License-Identifier: Apache-2.0

// Package crash kills the real agent, again and again, while drivers work with its emulated node, and holds what is
// left against what the agent had acknowledged.
package crash
