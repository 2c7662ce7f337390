// SPDX-License-Identifier: Apache-2.0

// Package server puts the node's operations on the wire: one listener and one gRPC server for each API group and
// version, a table of the methods of each, and the interceptors that every call passes.
//
// Every unary call passes one interceptor, whose order is part of the design: the deadline and a request id come first,
// so that everything below can log the id; then recording, counting and logging, so that they see what the caller sees;
// then the wait for the call's turn, before its request is read; then the recovery from panics; and innermost the
// translation of errors to gRPC statuses.
package server
