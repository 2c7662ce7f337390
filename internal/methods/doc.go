// SPDX-License-Identifier: Apache-2.0

// Package methods selects methods of the storage API by masks, as people write them: "disk/ListDiskIDs".
package methods
