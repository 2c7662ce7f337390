// SPDX-License-Identifier: Apache-2.0

// Package conformance proves every method of every API version that an agent lists, through the client of each version
// with that version's own messages: lives use all methods, each method fails as a table says, and hostile requests
// achieve nothing. A method that is in no life or not in the table fails the tests. What a method means is the same in
// all versions, and stands in test/contract.
package conformance
