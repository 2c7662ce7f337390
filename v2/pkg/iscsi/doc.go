// SPDX-License-Identifier: Apache-2.0

// Package iscsi is the iscsi group for drivers that do their storage work in process: portals, targets and their disks.
//
//	initiator, err := iscsi.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls are those of the node, as through its agent. With any other HostAPI, as a
// driver's test has, this package calls that one's methods.
//
// A response is never nil: there are drivers that read it before the error.
package iscsi
