// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests what an operator sees of a running agent: its metrics and health over HTTP while calls run,
// fail and hang, and that the dashboard, the alerts and the documentation speak of metrics that exist.
package monitoring
