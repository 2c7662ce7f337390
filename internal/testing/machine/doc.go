// SPDX-License-Identifier: Apache-2.0

// Package machine makes what tests need of the Windows machine that they run on, until a test ends: virtual disks, an
// account, shares. It has no part in the emulated node, and belongs on a machine that may be changed.
package machine
