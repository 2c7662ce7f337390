// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the interface of package smb to a machine. New returns the machine that the process runs on; tests
// give package smb an implementation of their own, or the mappings of an emulated node through Over.
package hostapi
