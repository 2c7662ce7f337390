// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !windows

package app

// findMemoryBound returns no bound: agents run on such systems for development only.
func findMemoryBound() (memoryBound, error) { return memoryBound{}, nil }
