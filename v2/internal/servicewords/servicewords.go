// SPDX-License-Identifier: Apache-2.0

// Package servicewords translates between the numbers of a service and the words of the WMI class Win32_Service.
//
// https://learn.microsoft.com/windows/win32/cimwin32prov/win32-service
package servicewords

import "slices"

// Words are the words of a property, by number.
type Words []string

// StartModes returns the words of Win32_Service.StartMode, by start type.
func StartModes() Words { return Words{"Boot", "System", "Auto", "Manual", "Disabled"} }

// States returns the words of Win32_Service.State, by status.
func States() Words {
	return Words{"Unknown", "Stopped", "Start Pending", "Stop Pending", "Running", "Continue Pending",
		"Pause Pending", "Paused"}
}

// Of returns the word of a number, "" if it has none.
func (w Words) Of(number uint32) string {
	if number >= uint32(len(w)) {
		return ""
	}
	return w[number]
}

// Number returns the number of a word; for an unknown one 0, as the existing library does.
func (w Words) Number(word string) uint32 { return uint32(max(0, slices.Index(w, word))) }
