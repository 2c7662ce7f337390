// SPDX-License-Identifier: Apache-2.0

// Package smb is the smb group for drivers that do their storage work in process: shares that the whole node reaches, and
// links to them.
//
//	shares, err := smb.New(hostapi.New(), files)
//
// With hostapi.New or hostapi.Over, calls are those of the node, as through its agent. With any other HostAPI, as a
// driver's test has, this package calls that one's methods in order.
//
// A response is never nil: there are drivers that read it before the error.
package smb
