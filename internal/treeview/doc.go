// SPDX-License-Identifier: Apache-2.0

// Package treeview draws a node's storage for a terminal: disks, their partitions, the volumes on them and where those
// are mounted.
package treeview
