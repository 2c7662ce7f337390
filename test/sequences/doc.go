// SPDX-License-Identifier: Apache-2.0

// Package sequences plays the call sequences of CSI drivers in the field against an agent on an emulated node, whole
// and with one step of them failing, and asserts that the driver's retry ends in the same state as the undisturbed
// sequence. CSI_PROXY_LONG=all tries every step:
//
//	CSI_PROXY_LONG=all go test -count=1 -v -run 'Lives|ShareDrivers|Erasing' ./test/sequences
package sequences
