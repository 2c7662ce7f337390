// SPDX-License-Identifier: Apache-2.0

// Package metrics shows operators a running agent: Prometheus metrics of its calls, its operations and the kernel calls
// below them, counts of what the node has, and health over HTTP. docs/metrics.md lists the metrics.
//
// Two rules keep it harmless. Nothing that a caller sends becomes a label: labels are names from this program's own
// tables, so their number is bounded. And nothing here waits for Windows longer than a moment: one goroutine at a time
// reads, however many ask, and those who ask while it hangs are told so.
package metrics
