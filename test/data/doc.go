// SPDX-License-Identifier: Apache-2.0

// Package data asserts that nobody's data is lost: disks that hold any are neither partitioned nor formatted nor grown
// for another one, of callers that race one does the work, and what is removed while a volume is mounted below it, or
// another one takes its place, leaves the volumes' files alone. What is on the disks is compared byte by byte.
//
// Blank disks with marks of file systems on them, and damaged partition tables, are in test/hostile; disks that are
// pulled or replaced at every kernel call of every method are in test/sweep.
package data
