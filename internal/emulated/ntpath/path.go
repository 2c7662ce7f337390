// SPDX-License-Identifier: Apache-2.0

// Package ntpath parses the paths that callers, links and mount points of an emulated node have.
package ntpath

import (
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// Path is an absolute path as the kernel takes it: its start, and the names below. It accepts what Windows accepts;
// which paths callers may name is not decided here.
type Path struct {
	Letter string    // upper-case drive letter, or none
	Volume guid.GUID // without a letter
	UNC    bool      // \\server\share: Names[0] and Names[1]
	Names  []string
	Slash  bool // a separator ends the path: it must be a directory
}

// How paths begin that callers write, and those that the kernel has.
const (
	VerbatimPrefix = `\\?\`
	Prefix         = `\??\`
)

// ParseVerbatim parses a \\?\ path, which is not normalised. Anything else is ERROR_INVALID_NAME.
func ParseVerbatim(path string) (Path, error) {
	return parseBelow(path, VerbatimPrefix, win32.ERROR_INVALID_NAME)
}

// parseBelow parses a path that begins with a prefix; anything else is an error.
func parseBelow(path, prefix string, otherwise win32.Errno) (Path, error) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return Path{}, otherwise
	}
	return ParseObject(rest)
}

// ParseSubstitute parses the absolute substitute name of a link: \??\C:\dir, \??\Volume{GUID}\, \??\UNC\server\share.
func ParseSubstitute(name string) (Path, error) {
	return parseBelow(name, Prefix, win32.ERROR_CANT_RESOLVE_FILENAME)
}

// ParseObject parses the part after \??\: the name of a device, and names below it.
func ParseObject(path string) (Path, error) {
	device, rest, rooted := strings.Cut(path, `\`)
	var p Path
	id, isVolume := ParseVolumeName(VerbatimPrefix + device + `\`)
	switch {
	case strings.EqualFold(device, "UNC"):
		p.UNC = true
	case isVolume:
		p.Volume = id
	case len(device) == 2 && device[1] == ':' && 'A' <= device[0]&^0x20 && device[0]&^0x20 <= 'Z':
		p.Letter = strings.ToUpper(device[:1])
	default:
		return Path{}, win32.ERROR_PATH_NOT_FOUND
	}
	if !rooted {
		return Path{}, win32.ERROR_INVALID_PARAMETER // the device itself, which is not a file
	}
	rest, p.Slash = strings.CutSuffix(rest, `\`)
	if rest == "" {
		p.Slash = true
		return p, nil
	}
	p.Names = strings.Split(rest, `\`)
	for _, name := range p.Names {
		if !hostfiles.IsFileName(name) {
			return Path{}, win32.ERROR_INVALID_NAME
		}
	}
	return p, nil
}

// ParseWin32 parses a path as Win32 functions take it: verbatim, or normalised: / becomes \, empty names and . are
// dropped, .. removes the name before it, blanks and dots at the end of a name are dropped, and a path without a drive
// is on C.
func ParseWin32(path string) (Path, error) {
	if strings.HasPrefix(path, VerbatimPrefix) {
		return ParseVerbatim(path)
	}
	path = strings.ReplaceAll(path, "/", `\`)
	if share, ok := strings.CutPrefix(path, `\\`); ok {
		return ParseObject(`UNC\` + share)
	}
	drive, rest := "C:", path
	if len(path) >= 2 && path[1] == ':' {
		drive, rest = path[:2], path[2:]
	}
	if !strings.HasPrefix(rest, `\`) {
		return Path{}, win32.ERROR_INVALID_NAME
	}
	var names []string
	for _, name := range strings.Split(rest, `\`) {
		switch trimmed := strings.TrimRight(name, ". "); {
		case name == "..":
			names = names[:max(0, len(names)-1)]
		case trimmed != "":
			names = append(names, trimmed)
		}
	}
	end := ""
	if strings.HasSuffix(rest, `\`) && len(names) > 0 {
		end = `\`
	}
	return ParseObject(drive + `\` + strings.Join(names, `\`) + end)
}

// ParseVolumeName parses \\?\Volume{GUID}\ in any case.
func ParseVolumeName(name string) (guid.GUID, bool) {
	text, ok := CutAround(strings.ToLower(name), `\\?\volume{`, `}\`)
	id, err := guid.FromString(text)
	return id, ok && err == nil
}

// CutAround returns what is between a prefix and a suffix.
func CutAround(s, prefix, suffix string) (string, bool) {
	rest, begun := strings.CutPrefix(s, prefix)
	rest, ended := strings.CutSuffix(rest, suffix)
	return rest, begun && ended
}

// RelativeTarget resolves the target of a relative link from the link's directory.
func RelativeTarget(dir Path, target string) (Path, error) {
	if strings.HasPrefix(target, `\`) { // from the root of the volume
		dir.Names = nil
	}
	for _, name := range strings.Split(target, `\`) {
		switch {
		case name == "" || name == ".":
		case name == "..":
			if len(dir.Names) == 0 {
				return Path{}, win32.ERROR_CANT_RESOLVE_FILENAME
			}
			dir.Names = dir.Names[:len(dir.Names)-1]
		case !hostfiles.IsFileName(name):
			return Path{}, win32.ERROR_INVALID_NAME
		default:
			dir.Names = append(dir.Names, name)
		}
	}
	return dir, nil
}

// VolumeName returns the name of a volume: \\?\Volume{GUID}\.
func VolumeName(id guid.GUID) string { return `\\?\Volume{` + id.String() + `}\` }

// ParseMountPoint parses the path of a mount point, which must end in a separator.
func ParseMountPoint(path string) (Path, error) {
	if !strings.HasSuffix(path, `\`) {
		return Path{}, win32.ERROR_INVALID_NAME
	}
	return ParseWin32(path)
}
