// SPDX-License-Identifier: Apache-2.0

// Package proof has the reports of csi-proxy-prove: what a machine showed about the agent, without what is personal to
// the machine. docs/prove.md tells what is replaced.
package proof
