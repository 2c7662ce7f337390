// SPDX-License-Identifier: Apache-2.0

// Package methods selects methods of the storage API by masks that people write, such as "disk/ListDiskIDs".
package methods
