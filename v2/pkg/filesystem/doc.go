// SPDX-License-Identifier: Apache-2.0

// Package filesystem is the filesystem group for drivers that do their storage work in process: directories and links
// below kubelet's directory.
//
//	files, err := filesystem.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls behave as they do through the agent. With any other HostAPI, such as
// that of a driver's test, this package checks the paths and calls the HostAPI's methods.
//
// A response is never nil, because some drivers read it before the error.
package filesystem
