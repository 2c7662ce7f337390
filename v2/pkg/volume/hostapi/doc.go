// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the interface of package volume to a machine. New returns the machine that the process runs on;
// tests give package volume an implementation of their own, or the volumes of an emulated node through Over.
package hostapi
