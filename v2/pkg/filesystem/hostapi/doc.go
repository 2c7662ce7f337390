// SPDX-License-Identifier: Apache-2.0

// Package hostapi is the interface of package filesystem to a machine. New returns the machine that the process runs
// on; tests give package filesystem an implementation of their own, or the directories of an emulated node through
// Over.
package hostapi
