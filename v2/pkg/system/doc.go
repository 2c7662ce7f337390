// SPDX-License-Identifier: Apache-2.0

// Package system is the system group for drivers that do their storage work in process: services and the firmware's
// serial number.
//
//	system, err := system.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls are those of the node, as through its agent. With any other HostAPI, as a
// driver's test has, this package calls that one's methods.
//
// A response is never nil: there are drivers that read it before the error.
package system
