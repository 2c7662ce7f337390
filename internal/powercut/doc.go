// SPDX-License-Identifier: Apache-2.0

// Package powercut is a model of the disk below a directory of the host, for tests that cut the host's power. It sees
// each operation on the host's files before it is made, and knows what is durable: the contents of files that were
// synced, under names in directories that were synced. Of everything else, a power cut leaves nothing, all, or a random
// mix in which files are torn between sectors.
//
// A rename is never half done, and is durable when the directory of the new name is: so it is on the journaling file
// systems (ext4, XFS, btrfs) whose crash behaviour "All File Systems Are Not Created Equal" (OSDI 2014) compares.
//
// It needs Linux.
package powercut
