// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// ntPath is an absolute path as the kernel takes it: its start, and the names below. It accepts what Windows accepts;
// which paths callers may name is not decided here.
type ntPath struct {
	letter byte      // upper-case drive letter, or 0
	volume guid.GUID // without a letter
	unc    bool      // \\server\share: names[0] and names[1]
	names  []string
	slash  bool // a separator ends the path: it must be a directory
}

const (
	verbatimPrefix = `\\?\`
	ntPrefix       = `\??\`
	devicePrefix   = `\Device\`
)

// parseVerbatim parses a \\?\ path, which is not normalised. Anything else is ERROR_INVALID_NAME.
func parseVerbatim(path string) (ntPath, error) {
	return parseBelow(path, verbatimPrefix, win32.ERROR_INVALID_NAME)
}

// parseBelow parses a path that begins with a prefix; anything else is an error.
func parseBelow(path, prefix string, otherwise win32.Errno) (ntPath, error) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return ntPath{}, otherwise
	}
	return parseObject(rest)
}

// parseSubstitute parses the absolute substitute name of a link: \??\C:\dir, \??\Volume{GUID}\, \??\UNC\server\share.
func parseSubstitute(name string) (ntPath, error) {
	return parseBelow(name, ntPrefix, win32.ERROR_CANT_RESOLVE_FILENAME)
}

// parseObject parses the part after \??\: the name of a device, and names below it.
func parseObject(path string) (ntPath, error) {
	device, rest, rooted := strings.Cut(path, `\`)
	var p ntPath
	id, isVolume := parseVolumeName(verbatimPrefix + device + `\`)
	switch {
	case strings.EqualFold(device, "UNC"):
		p.unc = true
	case isVolume:
		p.volume = id
	case len(device) == 2 && device[1] == ':' && isLetter(device[0]):
		p.letter = device[0] &^ 0x20
	default:
		return ntPath{}, win32.ERROR_PATH_NOT_FOUND
	}
	if !rooted {
		return ntPath{}, win32.ERROR_INVALID_PARAMETER // the device itself, which is not a file
	}
	rest, p.slash = strings.CutSuffix(rest, `\`)
	if rest == "" {
		p.slash = true
		return p, nil
	}
	p.names = strings.Split(rest, `\`)
	for _, name := range p.names {
		if !hostfiles.IsFileName(name) {
			return ntPath{}, win32.ERROR_INVALID_NAME
		}
	}
	return p, nil
}

// parseWin32 parses a path as Win32 functions take it: verbatim, or normalised: / becomes \, empty names and . are
// dropped, .. removes the name before it, blanks and dots at the end of a name are dropped, and a path without a drive
// is on C.
func parseWin32(path string) (ntPath, error) {
	if strings.HasPrefix(path, verbatimPrefix) {
		return parseVerbatim(path)
	}
	path = strings.ReplaceAll(path, "/", `\`)
	if share, ok := strings.CutPrefix(path, `\\`); ok {
		return parseObject(`UNC\` + share)
	}
	drive, rest := "C:", path
	if len(path) >= 2 && path[1] == ':' {
		drive, rest = path[:2], path[2:]
	}
	if !strings.HasPrefix(rest, `\`) {
		return ntPath{}, win32.ERROR_INVALID_NAME
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
	return parseObject(drive + `\` + strings.Join(names, `\`) + end)
}

// parseVolumeName parses \\?\Volume{GUID}\ in any case.
func parseVolumeName(name string) (guid.GUID, bool) {
	text, ok := cutAround(strings.ToLower(name), `\\?\volume{`, `}\`)
	id, err := guid.FromString(text)
	return id, ok && err == nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
