// SPDX-License-Identifier: Apache-2.0

// Package signature names what raw bytes of a disk or volume are the beginning of, so that a refusal to write over
// them can say what was found. It is no judge: bytes that it does not know are data all the same.
package signature
