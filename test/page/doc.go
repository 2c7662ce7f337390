// SPDX-License-Identifier: Apache-2.0

// Package page is for the tests of an emulated node's web page in a real browser, which make check-page runs. There is
// nothing else in it.
package page
