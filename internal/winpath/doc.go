// SPDX-License-Identifier: Apache-2.0

// Package winpath is the grammar of Windows paths and names as the agent accepts them from callers, and the policy on
// where a caller may work. It looks at text only, does no I/O and builds on every operating system. Other packages find
// out where a path leads, handle by handle, starting at the working directory that Find returns.
//
// The grammar is narrower than Windows' own on purpose. It refuses everything that Windows would quietly turn into
// another name, such as a trailing dot, a short name or a device name, so that two texts that this package considers
// different never mean the same file.
package winpath
