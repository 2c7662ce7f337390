// SPDX-License-Identifier: Apache-2.0

// Package win32 holds the parts of the Win32 interface that are bytes and numbers: error codes, control codes,
// constants, the layouts of control buffers with their encoders and parsers, and the planning of GPT partitions. It
// does no I/O and builds on every operating system; tests compare the layouts with bytes that a C compiler made
// (testdata/abi).
//
// Names are spelled as in Microsoft's headers. Every layout is that of 64-bit Windows, little-endian; x64 and arm64
// agree. Each structure has a method Bytes, which encodes it, and a function ParseX, which decodes it. A parser takes
// exactly the bytes that Windows returned, checks every count and offset against them, copies what it keeps, never
// panics, and fails with *LayoutError.
package win32
