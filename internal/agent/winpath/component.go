// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxComponent is the longest name that NTFS stores, in UTF-16 units.
const maxComponent = 255

// checkComponent returns the problem of one name of a path, or "".
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
func checkComponent(name string) (problem string) {
	switch {
	case name == "":
		return "has an empty component"
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case name == "." || name == "..":
		return fmt.Sprintf("has a %q component", name)
	}
	for _, r := range name {
		if strings.ContainsRune(`<>:"/\|?*`, r) {
			return fmt.Sprintf("has the reserved character %c in a component", r)
		}
		if unicode.IsControl(r) {
			return fmt.Sprintf("has the control character U+%04X in a component", r)
		}
	}
	switch {
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "has a component that ends with a dot or blank"
	case isDeviceName(name):
		return "has a reserved device name as a component"
	case isShortName(name):
		return "has a component that may be an 8.3 short name"
	case units(name) > maxComponent:
		return fmt.Sprintf("has a component of more than %d characters", maxComponent)
	}
	return ""
}

// isDeviceName reports whether Windows may read the name as a device, whatever its extension: NUL, nul.txt, "COM1 .x".
func isDeviceName(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = Fold(strings.TrimRight(base, " "))
	switch base {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	port, isPort := strings.CutPrefix(base, "com")
	if !isPort {
		port, isPort = strings.CutPrefix(base, "lpt")
	}
	if !isPort {
		return false
	}
	r, size := utf8.DecodeRuneInString(port)
	return size == len(port) && size > 0 && strings.ContainsRune("0123456789¹²³", r)
}

// isShortName reports whether NTFS may have generated the name for a longer one: at most eight characters that end with
// ~ and digits, and an extension of at most three. KUBELE~1 and A~12.TXT are such names; kubernetes.io~csi is not.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/18e63b13-ba43-4f5f-a5b7-11e871b71f14
func isShortName(name string) bool {
	base, extension, _ := strings.Cut(name, ".")
	if units(base) > 8 || units(extension) > 3 || strings.Contains(extension, ".") {
		return false
	}
	stem := strings.TrimRight(base, "0123456789")
	return len(stem) < len(base) && strings.HasSuffix(stem, "~")
}

// units returns the number of UTF-16 units of a text.
func units(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
