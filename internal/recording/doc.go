// SPDX-License-Identifier: Apache-2.0

// Package recording keeps kernel calls: what went in, what came out, and how long it took. A recording made on one
// machine is compared elsewhere with the calls' results on an emulated node (test/replay).
//
// A recording is text, a JSON object a line: a Header, and a Call for each call in the order in which they ended. One
// file may hold several, each with its header. No secret is ever in it, and of what devices hold no more than boot
// sectors.
//
// The package is not part of the agent. Tests, and the programs made of them, run an agent on a kernel that records.
package recording
