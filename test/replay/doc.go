// SPDX-License-Identifier: Apache-2.0

// Package replay makes the kernel calls of a recording on an emulated node and compares the answers, so that what a
// real machine was seen to do decides what the emulated one does. Before each call it puts the node into the situation
// that the recording shows; what it cannot put into that situation is not compared, and counted as that.
//
// The recordings are docs/evidence/recordings; accepted.txt lists the differences that may stay, with their reasons;
// and docs/emulated-node-recorded.md, which the tests write with -update, tells the result.
package replay
