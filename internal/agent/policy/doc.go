// SPDX-License-Identifier: Apache-2.0

// Package policy decides what a client of the storage API may do, by the operator's file: which methods it may call,
// and which directories, services and servers its calls may name. A client is what the system says of the process that
// opened the connection. docs/policy.md describes the file.
package policy
