// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/similar"
)

// ParseErrno parses an error code: its name in winerror.h, if this package knows it, or its number in any of Go's
// notations.
func ParseErrno(text string) (Errno, error) { return parseCode(text, "Win32 error code", errnoNames) }

// ParseControlCode parses a control code: its name, if this package knows it, or its number in any of Go's notations.
func ParseControlCode(text string) (uint32, error) {
	return parseCode(text, "control code", controlCodeNames)
}

func parseCode[T ~uint32](text, kind string, names map[T]string) (T, error) {
	for code, name := range names {
		if name == text {
			return code, nil
		}
	}
	number, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a known %s nor a number%s", text, kind,
			similar.Meant(text, slices.Collect(maps.Values(names))))
	}
	return T(number), nil
}
