// SPDX-License-Identifier: Apache-2.0

// Package winpath is the grammar of Windows paths and names as the agent accepts them from callers, and the policy on
// where a caller may work. It looks at text only: it does no I/O, builds on every operating system, and what a path
// leads to is for others to find out, handle by handle, starting at the working directory that Find returns.
//
// The grammar is narrower than Windows' own on purpose. Whatever Windows would quietly turn into another name, such as
// a trailing dot, a short name or a device name, is refused, so that two texts which this package tells apart never
// mean the same file.
package winpath
