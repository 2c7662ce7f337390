// SPDX-License-Identifier: Apache-2.0

// Command evidence writes docs/evidence.md, which says of each method of the API at which level it was proved. It reads
// nothing but records of test runs in docs/evidence, and makes these records from what go test prints.
package main
