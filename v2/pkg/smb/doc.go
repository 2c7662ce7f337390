// SPDX-License-Identifier: Apache-2.0

// Package smb is the smb group for drivers that do their storage work in process: shares that the whole node can reach,
// and links to them.
//
//	shares, err := smb.New(hostapi.New(), files)
//
// With hostapi.New or hostapi.Over, calls behave as they do through the agent. With any other HostAPI, such as
// that of a driver's test, this package calls the HostAPI's methods in order.
//
// A response is never nil, because some drivers read it before the error.
package smb
