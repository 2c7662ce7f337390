// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what package system asks of a machine. New is the machine that the process runs on; tests give
// package system an implementation of their own, or the services of an emulated node through Over.
package hostapi
