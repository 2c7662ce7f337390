// SPDX-License-Identifier: Apache-2.0

// Package conformance proves every method of every API version that an agent lists: scenarios that are written once
// run through the client of each version with that version's own messages, and a method without a scenario fails
// the tests.
package conformance
