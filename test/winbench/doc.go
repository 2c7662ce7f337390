// SPDX-License-Identifier: Apache-2.0

// Command winbench measures the agent as a Windows program: its size, the time until its last pipe is open, the memory
// that it holds when idle, and the latency of reads beside a bare gRPC echo on a pipe. It writes docs/performance-windows.md.
package main
