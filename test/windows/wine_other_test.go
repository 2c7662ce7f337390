// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

func isWine() bool { return false }
