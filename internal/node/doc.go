// SPDX-License-Identifier: Apache-2.0

// Package node implements what each operation of CSI Proxy means: validation, path policy, order, idempotency, locking
// and the completion of half-done work, written once and portably on top of package kernel. The agent serves it over
// gRPC; package inprocess gives it to a driver in a HostProcess container.
package node
