// SPDX-License-Identifier: Apache-2.0

// Package journal remembers what an agent did last: the API calls that it served and the kernel calls that it made for
// them, with secrets masked before they are kept.
package journal
