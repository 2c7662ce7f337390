// SPDX-License-Identifier: Apache-2.0

// Package filesystem is the filesystem group for drivers that do their storage work in process: directories and links
// below kubelet's directory.
//
//	files, err := filesystem.New(hostapi.New())
//
// With hostapi.New or hostapi.Over, calls are those of the node, as through its agent. With any other HostAPI, as a
// driver's test has, this package checks the paths and calls that one's methods.
//
// A response is never nil: there are drivers that read it before the error.
package filesystem
