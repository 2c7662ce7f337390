// SPDX-License-Identifier: Apache-2.0

// Package win32 holds the parts of the Win32 interface that are bytes and numbers: error and control codes, constants,
// the layouts of control buffers with their encoders and parsers, and the planning of GPT partitions. It does no I/O
// and builds on every system; tests compare the layouts with bytes that a C compiler made (testdata/abi).
//
// Names are spelled as in Microsoft's headers. Every layout is that of 64-bit Windows, little-endian; x64 and arm64
// agree. A structure that is sent has a method Bytes, which encodes it, and one that is received a function ParseX,
// which decodes it; package deviceside has the reverse. A parser takes exactly the bytes that Windows returned, checks
// every count and offset against them, copies what it keeps, never panics, and fails with *cstruct.LayoutError.
package win32
