// SPDX-License-Identifier: Apache-2.0

// Package treeview shows the storage of a node to people: disks, their partitions, the volumes on them and their mount
// points. The facts come from an agent's admin endpoint or, with less detail, from the storage API alone.
package treeview
