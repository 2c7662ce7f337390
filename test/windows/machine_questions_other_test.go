// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

// machineQuestions are those for Windows itself.
func machineQuestions() []Question { return nil }
