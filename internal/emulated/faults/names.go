// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/similar"
)

// FunctionNamed returns the kernel function that a person means, in any case and with or without the W at the end of
// Windows' names. It returns "" if there is none.
func FunctionNamed(name string) string {
	i := slices.IndexFunc(kernel.Functions(), func(own string) bool {
		return strings.EqualFold(own, name) || strings.EqualFold(own+"W", name)
	})
	if i < 0 {
		return ""
	}
	return kernel.Functions()[i]
}

// ParseErrno parses an error code: its name in winerror.h, if package win32 knows it, or its number in any of Go's
// notations.
func ParseErrno(text string) (win32.Errno, error) {
	names := map[win32.Errno]string{}
	for code := range win32.Errnos() {
		names[code] = code.Name()
	}
	return parseCode(text, "Win32 error code", names)
}

// ParseControlCode parses a control code: its name, if package win32 knows it, or its number in any of Go's notations.
func ParseControlCode(text string) (uint32, error) {
	return parseCode(text, "control code", win32.ControlCodeNames())
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

// Masks returns the masks of methods by their paths on the wire: of the group, of the method in all versions, and in
// its own: volume, volume/MountVolume, volume/v1/MountVolume.
func Masks(paths []string) (masks []string) {
	for _, path := range paths {
		p, _ := versions.ParsePath(path)
		for _, mask := range []string{p.Group, p.Group + "/" + p.Method, p.Group + "/" + p.Version + "/" + p.Method} {
			if !slices.Contains(masks, mask) {
				masks = append(masks, mask)
			}
		}
	}
	return masks
}
