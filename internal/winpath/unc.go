// SPDX-License-Identifier: Apache-2.0

package winpath

import "strings"

// UNC is a path on a file server.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/62e862f4-2a51-452e-8eeb-dc4ff5ee33cc
type UNC struct {
	Server string
	Share  string
	Rest   []string // the components below the share
}

// ParseUNC parses \\server\share or \\server\share\dir; one trailing separator is dropped. Each part must follow the
// rules of Parse for components: none is empty, and server and share are not a device prefix (\\?\, \\.\). Errors are
// *Error.
func ParseUNC(text string, o Options) (UNC, error) {
	path := text
	if o.ForwardSlash {
		path = strings.ReplaceAll(text, "/", `\`)
	}
	rest, ok := strings.CutPrefix(path, `\\`)
	if !ok {
		return UNC{}, refuse(text, `is not of the form \\server\share`)
	}
	return splitUNC(text, rest)
}

func splitUNC(whole, rest string) (UNC, error) {
	server, rest, _ := strings.Cut(rest, `\`)
	share, below, _ := strings.Cut(rest, `\`)
	for _, part := range []struct{ what, name string }{{"server", server}, {"share", share}} {
		if part.name == "" {
			return UNC{}, refuse(whole, `has no %s; the form is \\server\share`, part.what)
		}
		if problem := checkComponent(part.name); problem != "" {
			return UNC{}, refuse(whole, "%s (the %s)", problem, part.what)
		}
	}
	names, err := splitBelow(whole, below)
	if err != nil {
		return UNC{}, err
	}
	return UNC{Server: server, Share: share, Rest: names}, nil
}

// Root returns the share itself: \\server\share.
func (u UNC) Root() string { return `\\` + u.Server + `\` + u.Share }

// String returns the path without a trailing separator: \\server\share\dir.
func (u UNC) String() string {
	return strings.Join(append([]string{u.Root()}, u.Rest...), `\`)
}
