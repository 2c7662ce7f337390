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

// ParseUNC parses a caller's path \\server\share or \\server\share\dir. Slashes are separators too, and the number of
// separators does not matter: drivers name one share as \\server\share, \server\share and //server//share. Each part
// must follow the rules of Parse for components, so that \\?\ and \\.\ are refused. Errors are *Error.
func ParseUNC(text string) (UNC, error) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '\\' || r == '/' })
	return splitUNC(text, strings.Join(parts, `\`))
}

func splitUNC(whole, rest string) (UNC, error) {
	server, rest, _ := strings.Cut(rest, `\`)
	share, below, _ := strings.Cut(rest, `\`)
	for _, part := range []struct{ what, name string }{{"server", server}, {"share", share}} {
		if part.name == "" {
			return UNC{}, refuse(whole, `has no %s; the form is \\server\share`, part.what)
		}
		if problem := checkComponent(part.name); problem != "" {
			return UNC{}, refuse(whole, `is no \\server\share: the %s %s`, part.what, problem)
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

// Key returns the same text for all spellings of the share, as shares are mapped: \\server\share in lower case.
func (u UNC) Key() string { return Fold(u.Root()) }

// String returns the path without a trailing separator: \\server\share\dir.
func (u UNC) String() string {
	return strings.Join(append([]string{u.Root()}, u.Rest...), `\`)
}
