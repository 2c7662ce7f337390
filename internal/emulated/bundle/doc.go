// SPDX-License-Identifier: Apache-2.0

// Package bundle has the directories of disks: the image, what the disk says of itself, and the files of its volumes.
// It needs no node.
package bundle
