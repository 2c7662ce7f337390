// SPDX-License-Identifier: Apache-2.0

// Package signature recognises the format of raw bytes of a disk or volume, so that a refusal to overwrite them can
// name it. It does not decide what may be overwritten: bytes of an unknown format are data too.
package signature
