// SPDX-License-Identifier: Apache-2.0

// Package server puts the node's operations on the wire: one listener and one gRPC server for each API group and
// version, a table that says which methods each of them has, and the interceptors that every call passes.
//
// The order of the interceptors is part of the design: a request id first, so that everything below can log it; the
// audit line and the counters next, so that they see what the caller sees; then the recovery from panics, the
// method's own deadline, and, innermost, the translation of errors to gRPC statuses.
package server
