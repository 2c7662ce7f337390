// SPDX-License-Identifier: Apache-2.0

// Package machine is what the hostapi packages have in common: the client that their calls go through. Those of New go
// to the machine that the process runs on, which all groups share.
package machine
