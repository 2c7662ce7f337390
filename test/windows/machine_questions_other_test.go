// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

// machineQuestions returns the questions for Windows itself.
func machineQuestions() []Question { return nil }
