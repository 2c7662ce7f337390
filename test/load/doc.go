// SPDX-License-Identifier: Apache-2.0

// Package load lets many drivers live at once on hundreds of disks, for as long as CSI_PROXY_SOAK says (4s), while kernel
// calls fail and are slow, the agent restarts and the node reboots. No data that a driver wrote may be missing, callers
// who contend for one path or disk must get answers that some order of their calls explains, and when all is quiet the
// agent holds no more goroutines, files and memory than at the beginning.
package load
