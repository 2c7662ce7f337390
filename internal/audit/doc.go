// SPDX-License-Identifier: Apache-2.0

// Package audit records who asked the agent for what, and with which outcome: one JSON object on a line for each call,
// in the order in which calls end. The fields are a contract, described in docs/security.md.
package audit
