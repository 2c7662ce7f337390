// SPDX-License-Identifier: Apache-2.0

// Package audit writes down who asked the agent for what, and what became of it: one JSON object on a line for each
// call, in the order in which they end. The fields are a contract, described in docs/security.md.
package audit
