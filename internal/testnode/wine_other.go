// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package testnode

// OnWine reports whether the tests run under Wine, which also counts as Windows.
func OnWine() bool { return false }
