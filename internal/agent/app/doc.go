// SPDX-License-Identifier: Apache-2.0

// Package app is the command line that csi-proxy and csi-proxy-emulated share: their common flags, logs, metrics and
// memory limit, and serving an agent until it is told to stop.
package app
