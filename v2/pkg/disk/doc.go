// SPDX-License-Identifier: Apache-2.0

// Package disk is the disk group for drivers that do their storage work in process: finding disks, partitioning them,
// taking them online and offline.
//
//	disks, err := disk.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls behave as they do through the agent. With any other HostAPI, such as
// that of a driver's test, this package calls the HostAPI's methods in order.
//
// A response is never nil, because some drivers read it before the error.
package disk
