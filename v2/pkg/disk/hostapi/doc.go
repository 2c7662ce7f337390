// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what package disk asks of a machine. New is the machine that the process runs on; tests give
// package disk an implementation of their own, or the disks of an emulated node through Over.
package hostapi
