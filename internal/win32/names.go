// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/similar"
)

// ParseErrno parses an error code: its name in winerror.h, if this package knows it, or its number in any of Go's
// notations.
func ParseErrno(text string) (Errno, error) {
	if i := slices.IndexFunc(errnoTable[:], func(e errnoEntry) bool { return e.name == text }); i >= 0 {
		return errnoTable[i].code, nil
	}
	number, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		names := make([]string, len(errnoTable))
		for i, e := range errnoTable {
			names[i] = e.name
		}
		return 0, fmt.Errorf("%q is neither a known Win32 error code nor a number%s", text, similar.Meant(text, names))
	}
	return Errno(number), nil
}

// ParseControlCode parses a control code: its name, if this package knows it, or its number in any of Go's notations.
func ParseControlCode(text string) (uint32, error) {
	for code, name := range controlCodeNames {
		if name == text {
			return code, nil
		}
	}
	number, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		names := slices.Collect(maps.Values(controlCodeNames))
		return 0, fmt.Errorf("%q is neither a known control code nor a number%s", text, similar.Meant(text, names))
	}
	return uint32(number), nil
}
