// SPDX-License-Identifier: Apache-2.0

// Package gpt reads and writes GUID partition tables in the layout of UEFI 2.10, chapter 5. It is pure: reading goes
// through an io.ReaderAt, and writing returns the byte blocks that make up the table, so that the caller decides how
// they reach the medium together.
package gpt
