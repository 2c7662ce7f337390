// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/similar"
)

// ParseCalls reads which calls a person means: those of a kernel function, in any case and with or without the W at the
// end of Windows' names, and those of the API methods that a mask selects. An empty text is no function or no mask.
// What selects nothing is an error that says what may be meant.
func ParseCalls(function, methods string) (named string, mask policy.Mask, err error) {
	if function != "" {
		i := slices.IndexFunc(kernel.Functions(), func(own string) bool {
			return strings.EqualFold(own, function) || strings.EqualFold(own+"W", function)
		})
		if i < 0 {
			return "", mask, fmt.Errorf("unknown kernel function %q%s", function, cmp.Or(
				similar.Meant(function, kernel.Functions()), "; the journal shows the functions of calls"))
		}
		named = kernel.Functions()[i]
	}
	if methods != "" {
		if mask, err = policy.ParseMask(methods); err != nil {
			return "", mask, fmt.Errorf("%w%s", err, similar.DidYouMean(similarMasks(methods)))
		}
	}
	return named, mask, nil
}

// Methods returns the paths on the wire of all methods of the API, sorted by their names in policies.
func Methods() []string {
	return slices.SortedFunc(slices.Values(node.MethodPaths()),
		func(a, b string) int { return strings.Compare(policy.Written(a), policy.Written(b)) })
}

// similarMasks returns the masks that a text may have meant, also those of methods whose group it lacks.
func similarMasks(text string) []string {
	masks := Masks(Methods())
	if near := similar.Names(text, masks); len(near) > 0 {
		return near
	}
	byName := map[string]string{}
	for _, mask := range masks {
		if strings.Count(mask, "/") == 1 {
			byName[path.Base(mask)] = mask
		}
	}
	near := similar.Names(path.Base(text), slices.Collect(maps.Keys(byName)))
	for i, name := range near {
		near[i] = byName[name]
	}
	return near
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
	for _, of := range paths {
		p, _ := versions.ParsePath(of)
		for _, mask := range []string{p.Group, p.Group + "/" + p.Method, p.Group + "/" + p.Version + "/" + p.Method} {
			if !slices.Contains(masks, mask) {
				masks = append(masks, mask)
			}
		}
	}
	return masks
}
