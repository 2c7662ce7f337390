// SPDX-License-Identifier: Apache-2.0

// Package disk is the disk group for drivers that do their storage work in process: finding disks, partitioning them,
// taking them online and offline.
//
//	disks, err := disk.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls are those of the node, as through its agent. With any other HostAPI, as a
// driver's test has, this package calls that one's methods in order.
//
// A response is never nil: there are drivers that read it before the error.
package disk
