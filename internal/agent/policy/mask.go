// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

// wildcard matches every name of its kind.
const wildcard = "*"

// A Mask selects API methods by group, version and name, as people write them: "disk/ListDiskIDs". The zero value
// selects none.
type Mask struct{ group, version, method string }

// ParseMask reads a mask: GROUP, GROUP/METHOD, GROUP/VERSION or GROUP/VERSION/METHOD, or the path of one method on the
// wire, /VERSION.SERVICE/METHOD. Case does not matter. A part may be *, and a part that is left out matches anything:
// "disk/ListDiskIDs" is that method in every version. A mask that selects no method of the API is an error: a rule with
// it allows nothing, and a test that waits for such calls waits for none.
func ParseMask(text string) (Mask, error) {
	m, err := parts(text)
	if err == nil && !slices.ContainsFunc(node.MethodPaths(), m.Match) {
		m, err = Mask{}, fmt.Errorf("%q selects no method of the API", text)
	}
	return m, err
}

func parts(text string) (Mask, error) {
	if path, ok := strings.CutPrefix(text, "/"); ok {
		m, ok := of(path)
		if !ok {
			return Mask{}, fmt.Errorf("%q is not the path of a method, such as /v1.Disk/ListDiskIDs", text)
		}
		return m, nil
	}
	parts := strings.Split(strings.ToLower(text), "/")
	m := Mask{parts[0], wildcard, wildcard}
	switch {
	case len(parts) == 2 && apiversion.IsValidVersion(parts[1]):
		m.version = parts[1]
	case len(parts) == 2:
		m.method = parts[1]
	case len(parts) == 3:
		m.version, m.method = parts[1], parts[2]
	}
	if len(parts) > 3 || m.group == "" || m.method == "" ||
		m.version != wildcard && !apiversion.IsValidVersion(m.version) {
		return Mask{}, fmt.Errorf("%q selects no methods; write GROUP, GROUP/METHOD or GROUP/VERSION/METHOD, such as "+
			"disk/v1/ListDiskIDs", text)
	}
	return m, nil
}

// Match reports whether the mask selects the method of a path on the wire, such as "/v1.Disk/ListDiskIDs". A path
// that is not of the API, such as one of the admin endpoint, is never selected.
func (m Mask) Match(path string) bool {
	is, ok := of(path)
	return ok && fits(m.group, is.group) && fits(m.version, is.version) && fits(m.method, is.method)
}

func fits(mask, name string) bool { return mask == wildcard || mask == name }

// of returns the mask of one method, by its path on the wire.
func of(path string) (Mask, bool) {
	p, ok := versions.ParsePath(path)
	return Mask{p.Group, p.Version, strings.ToLower(p.Method)}, ok
}
