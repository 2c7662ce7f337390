// SPDX-License-Identifier: Apache-2.0

package winpath

import "strings"

// TargetKind is the kind of place that a link or mount point leads to.
type TargetKind int

// Kinds of Target. The zero value is not a kind.
const (
	_              TargetKind = iota
	TargetVolume              // a volume by its GUID: a mount point, or a link into a volume
	TargetLocal               // a path on a drive
	TargetUNC                 // a share on a file server
	TargetRelative            // relative to the directory of the link, or to the root of its volume
)

// Target is where a reparse point leads. The kind decides which fields are set.
type Target struct {
	Kind   TargetKind
	Volume VolumeID // TargetVolume
	Path   Path     // TargetLocal
	Rest   []string // TargetVolume: the components below the volume's root
	UNC    UNC      // TargetUNC
	Text   string   // TargetRelative: the path as stored, with . and .. and unchecked
}

// ParseSubstituteName parses the substitute name of a mount point or symbolic link: the NT path \??\Volume{GUID}\,
// \??\C:\dir or \??\UNC\server\share\dir, with \\?\ for \??\, too, and C:\dir or \\server\share\dir without it. What is
// below must follow the rules of Parse for components. Other names without a drive are relative. Errors are *Error.
func ParseSubstituteName(s string) (Target, error) {
	rest, ok := strings.CutPrefix(s, `\??\`)
	if !ok {
		rest, ok = strings.CutPrefix(s, `\\?\`)
	}
	switch {
	case ok && hasPrefixFold(rest, `UNC\`):
		return parseUNCTarget(s, rest[len(`UNC\`):])
	case ok && hasPrefixFold(rest, volumePrefix):
		return parseVolumeTarget(s, rest)
	case ok || len(s) >= 2 && s[1] == ':':
		// Parse(rest) alone is not enough: after a prefix, a path must have its drive.
		if strings.HasPrefix(rest, `\`) {
			return Target{}, refuse(s, "leads to an unknown kind of NT path")
		}
		if !ok {
			rest = s
		}
		p, err := Parse(rest, Options{})
		if err != nil {
			return Target{}, err
		}
		return Target{Kind: TargetLocal, Path: p}, nil
	case strings.HasPrefix(s, `\\`):
		return parseUNCTarget(s, s[len(`\\`):])
	case s == "":
		return Target{}, refuse("", "the link has no target")
	}
	return Target{Kind: TargetRelative, Text: s}, nil
}

func parseVolumeTarget(s, rest string) (Target, error) {
	id, below, ok := cutVolume(rest)
	if !ok || below != "" && below[0] != '\\' {
		return Target{}, refuse(s, `is not of the form Volume{GUID}\`)
	}
	names, err := splitBelow(s, strings.TrimPrefix(below, `\`))
	if err != nil {
		return Target{}, err
	}
	return Target{Kind: TargetVolume, Volume: id, Rest: names}, nil
}

func parseUNCTarget(s, rest string) (Target, error) {
	u, err := splitUNC(s, rest)
	if err != nil {
		return Target{}, err
	}
	return Target{Kind: TargetUNC, UNC: u}, nil
}

// splitBelow splits and checks the components below a volume or share. One trailing separator is dropped.
func splitBelow(whole, below string) (names []string, err error) {
	if below == "" {
		return nil, nil
	}
	names = strings.Split(strings.TrimSuffix(below, `\`), `\`)
	for _, name := range names {
		if problem := checkComponent(name); problem != "" {
			return nil, refuse(whole, "%s", problem)
		}
	}
	return names, nil
}
