// SPDX-License-Identifier: Apache-2.0

// Package iscsi is the iscsi group for drivers that do their storage work in process: portals, targets and their disks.
//
//	initiator, err := iscsi.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls behave as they do through the agent. With any other HostAPI, such as
// that of a driver's test, this package calls the HostAPI's methods.
//
// A response is never nil, because some drivers read it before the error.
package iscsi
