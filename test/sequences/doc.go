// SPDX-License-Identifier: Apache-2.0

// Package sequences plays the call sequences of CSI drivers in the field against an agent on an emulated node, whole
// and with one step of them failing, and asserts that the driver's retry ends in the same state as the undisturbed
// sequence.
package sequences
