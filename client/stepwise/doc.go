// SPDX-License-Identifier: Apache-2.0

// Package stepwise makes the steps of a CSI node service from single calls of a CSI Proxy agent. All of it can be
// repeated after a failure or a crash anywhere. Drivers get it from package staging, which prefers one call for a step;
// the agent uses it to serve that call.
//
// Paths have the forms that kubelet uses: with slashes or backslashes, with or without a drive.
package stepwise
