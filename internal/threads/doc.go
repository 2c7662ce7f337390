// SPDX-License-Identifier: Apache-2.0

// Package threads bounds how many threads kernel calls keep. A call that blocks keeps a thread of the system until it is
// over, and Go never ends a thread that it once made.
package threads
