// SPDX-License-Identifier: Apache-2.0

// Package journal asserts which kernel calls each API method makes, in order: testdata has one text a group, so that a
// needless or a missing call shows in review. `go test ./test/journal -update` writes them anew.
//
// A line is the function, the control code or information class, what it was called on, and the error if it failed, which
// is not always one to the caller. Closing handles is not written down. Each call is the node's second at least: what the
// agent remembers from call to call, which volume is the system's and where volumes were seen last, it knows.
package journal
