// SPDX-License-Identifier: Apache-2.0

// Package treeview shows the storage of a node to people: disks, their partitions, the volumes on those and where they
// are mounted, from what an agent's admin endpoint tells or, with less in it, from the storage API alone.
package treeview
