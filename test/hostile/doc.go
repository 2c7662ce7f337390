// SPDX-License-Identifier: Apache-2.0

// Package hostile tests the agent against malicious callers and workloads: requests that no driver sends, links planted
// where workloads write, disks that hold user data, and calls that hang or break. Every test goes through the agent's
// real sockets.
package hostile
