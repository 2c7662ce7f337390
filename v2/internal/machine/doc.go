// SPDX-License-Identifier: Apache-2.0

// Package machine is the common part of the hostapi packages: the client of their calls. Calls through New go to the
// machine that the process runs on, which all groups share.
package machine
