// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what package volume asks of a machine. New is the machine that the process runs on; tests give
// package volume an implementation of their own, or the volumes of an emulated node through Over.
package hostapi
