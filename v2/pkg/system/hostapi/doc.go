// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the interface of package system to a machine. New returns the machine that the process runs on;
// tests give package system an implementation of their own, or the services of an emulated node through Over.
package hostapi
