// SPDX-License-Identifier: Apache-2.0

// Package transcript writes an agent's journal as a text that is the same whenever the same calls are made, and
// compares it with the text in a file.
package transcript
