// SPDX-License-Identifier: Apache-2.0

// Package smb is the file servers that an emulated node can reach, their accounts, and the node's mappings of shares.
package smb
