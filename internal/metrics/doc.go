// SPDX-License-Identifier: Apache-2.0

// Package metrics is what an operator sees of a running agent: Prometheus metrics of its calls, its operations and the
// kernel calls below them, counts of what the node has, and health over HTTP. docs/metrics.md lists the metrics.
//
// Two rules keep it harmless. Nothing that a caller sends becomes a label: labels are names out of this program's own
// tables, so their number is bounded. And nothing here waits for Windows longer than a moment: what has to be read is
// read by one goroutine at a time, however many ask, and who asks while it hangs is told so.
package metrics
