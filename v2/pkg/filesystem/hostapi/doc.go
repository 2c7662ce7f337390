// SPDX-License-Identifier: Apache-2.0

// Package hostapi is what package filesystem asks of a machine. New is the machine that the process runs on; tests give
// package filesystem an implementation of their own, or the directories of an emulated node through Over.
package hostapi
