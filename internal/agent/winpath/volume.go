// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// VolumeID names a volume by the GUID that Windows gave it.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-volume
type VolumeID struct {
	GUID guid.GUID
}

// String returns the volume's name, also the path of its root: \\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\.
func (v VolumeID) String() string { return v.Device() + `\` }

// Device returns the path that opens the volume itself: its name without the trailing backslash.
func (v VolumeID) Device() string { return `\\?\` + volumePrefix + v.GUID.String() + "}" }

const volumePrefix = "Volume{"

// ParseVolumeID parses a caller's volume id: \\?\Volume{GUID}\ in upper or lower case, with or without the \\?\ and the
// trailing backslash, and nothing else. Errors are *Error; the one for an empty text is "volume id empty".
func ParseVolumeID(text string) (VolumeID, error) {
	if text == "" {
		return VolumeID{}, refuse("", "volume id empty")
	}
	id, rest, ok := cutVolume(strings.TrimPrefix(text, `\\?\`))
	if !ok || rest != "" && rest != `\` {
		return VolumeID{}, refuse("", `volume id %s is not of the form \\?\Volume{GUID}\`, Quote(text))
	}
	return id, nil
}

// cutVolume removes Volume{GUID} from the front of a text.
func cutVolume(text string) (id VolumeID, rest string, ok bool) {
	const length = len(volumePrefix) + len("01234567-89ab-cdef-0123-456789abcdef") + len("}")
	if len(text) < length || !hasPrefixFold(text, volumePrefix) || text[length-1] != '}' {
		return VolumeID{}, "", false
	}
	g, err := guid.FromString(text[len(volumePrefix) : length-1])
	if err != nil {
		return VolumeID{}, "", false
	}
	return VolumeID{GUID: g}, text[length:], true
}

// hasPrefixFold reports whether text begins with an ASCII prefix without K and S, in upper or lower case.
func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
