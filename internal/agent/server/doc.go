// SPDX-License-Identifier: Apache-2.0

// Package server puts the node's operations on the wire: one listener and one gRPC server for each API group and
// version, a table of the methods of each, and the interceptors that every call passes.
//
// Every unary call passes one interceptor, in an order that is part of the design: the deadline and a request id, which
// all below can log; recording, counting and logging, so that they see what the caller sees; the wait for a slot,
// before the request is read; the recovery from panics; and innermost the translation of errors to gRPC statuses.
package server
