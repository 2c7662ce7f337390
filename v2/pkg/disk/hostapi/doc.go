// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the interface of package disk to a machine. New returns the machine that the process runs on;
// tests give package disk an implementation of their own, or the disks of an emulated node through Over.
package hostapi
