// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what package smb asks of a machine. New is the machine that the process runs on; tests give package
// smb an implementation of their own, or the mappings of an emulated node through Over.
package hostapi
