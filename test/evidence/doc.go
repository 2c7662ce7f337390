// SPDX-License-Identifier: Apache-2.0

// Command evidence writes docs/evidence.md, which lists for each method of the API the level at which it was proved. It
// reads nothing but records of test runs in docs/evidence, and makes these records from the output of go test.
package main
