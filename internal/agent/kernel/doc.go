// SPDX-License-Identifier: Apache-2.0

// Package kernel is the operating system surface below the agent: one method for each Win32 facility that is used,
// named after it, with bytes wherever Windows itself takes a buffer. It makes no decisions. Two kernels implement it:
// windows makes the real calls, emulated is a Windows node made of files.
package kernel
