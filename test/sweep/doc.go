// SPDX-License-Identifier: Apache-2.0

// Package sweep disturbs every kernel call of every method that changes something, one at a time and in every way: the
// call fails before or after it took effect, the agent dies there, the node loses power there, the disk is pulled there or
// another one takes its place. Then the driver tries again, and the node has to be as if nothing had happened.
//
// Which kernel calls there are, each example's undisturbed run tells: a call that is added to an operation is disturbed
// without anybody writing it down. CSI_PROXY_SWEEP=N tries every N-th point only, 1 all of them; without it, N is 43.
package sweep
