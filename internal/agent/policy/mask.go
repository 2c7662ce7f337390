// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"regexp"
	"strings"
)

// wildcard matches every name of its kind.
const wildcard = "*"

// A Mask selects API methods by group, version and name, as people write them: "disk/ListDiskIDs". The zero value
// selects none.
type Mask struct{ group, version, method string }

// ParseMask reads a mask: GROUP, GROUP/METHOD, GROUP/VERSION or GROUP/VERSION/METHOD, or the path of one method on the
// wire, /VERSION.SERVICE/METHOD. Case does not matter. A part may be *, and a part that is left out matches anything:
// "disk/ListDiskIDs" is that method in every version.
func ParseMask(text string) (Mask, error) {
	if path, ok := strings.CutPrefix(text, "/"); ok {
		m, ok := split(path)
		if !ok {
			return Mask{}, fmt.Errorf("%q is not the path of a method, such as /v1.Disk/ListDiskIDs", text)
		}
		return m, nil
	}
	parts := strings.Split(strings.ToLower(text), "/")
	m := Mask{parts[0], wildcard, wildcard}
	switch {
	case len(parts) == 2 && isVersion(parts[1]):
		m.version = parts[1]
	case len(parts) == 2:
		m.method = parts[1]
	case len(parts) == 3:
		m.version, m.method = parts[1], parts[2]
	}
	if len(parts) > 3 || m.group == "" || m.method == "" || m.version != wildcard && !isVersion(m.version) {
		return Mask{}, fmt.Errorf("%q selects no methods; write GROUP, GROUP/METHOD or GROUP/VERSION/METHOD, such as "+
			"disk/v1/ListDiskIDs", text)
	}
	return m, nil
}

// versionForm is the form of an API version. Nothing changes it.
var versionForm = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// isVersion reports whether a text is a version and not a method.
func isVersion(text string) bool { return versionForm.MatchString(text) }

// Match reports whether the mask selects the method of a path on the wire, such as "/v1.Disk/ListDiskIDs". The group is
// the service's name in lower case, which holds for all groups of the API. A path of another form, such as one of the
// admin endpoint, is never selected.
func (m Mask) Match(path string) bool {
	of, ok := split(strings.TrimPrefix(path, "/"))
	return ok && fits(m.group, of.group) && fits(m.version, of.version) && fits(m.method, of.method)
}

func fits(mask, name string) bool { return mask == wildcard || mask == name }

// split splits VERSION.SERVICE/METHOD into its parts.
func split(path string) (Mask, bool) {
	service, method, ok := strings.Cut(strings.ToLower(path), "/")
	in, group, dotted := strings.Cut(service, ".")
	m := Mask{group, in, method}
	return m, ok && dotted && isVersion(in) && group != "" && method != "" && !strings.ContainsAny(group, "./") &&
		!strings.Contains(method, "/")
}
