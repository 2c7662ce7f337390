// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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
		if !isFileName(name) {
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

// maxNameUnits is how many UTF-16 units a file name may have on NTFS.
const maxNameUnits = 255

// isFileName reports whether NTFS accepts a file name: streams and wildcards are not names.
func isFileName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	units := 0
	for _, r := range name {
		if r < 0x20 || strings.ContainsRune(`<>:"/\|?*`, r) {
			return false
		}
		if units++; r > 0xFFFF {
			units++
		}
	}
	return units <= maxNameUnits
}

// sameName compares names like NTFS: unit by unit in upper case.
func sameName(a, b string) bool {
	if a == b {
		return true
	}
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if upper(ra) != upper(rb) {
			return false
		}
		a, b = a[na:], b[nb:]
	}
	return a == b
}

// upper returns the upper-case form of one UTF-16 unit. On NTFS, characters of two units have none.
func upper(r rune) rune {
	if up := unicode.ToUpper(r); r <= 0xFFFF && up <= 0xFFFF {
		return up
	}
	return r
}

// reservedPrefix begins the names of files with data that a plain directory cannot hold. Such names cannot be seen,
// opened or created through the kernel.
const reservedPrefix = ".csi-proxy-reparse"

func isReserved(name string) bool {
	if runtime.GOOS == "windows" && !filepath.IsLocal(name) { // the host's own, such as CON
		return true
	}
	return len(name) >= len(reservedPrefix) && strings.EqualFold(name[:len(reservedPrefix)], reservedPrefix)
}

// Hosts other than Windows have file names that Windows cannot have. Characters that it forbids are shown as
// characters of the private use area, as in the Windows Subsystem for Linux, so that such a file can be seen and
// deleted.
const privateUse = 0xF000

func isForbidden(r rune) bool { return r > 0 && r < 0x20 || strings.ContainsRune(`<>:"\|?*`, r) }

// windowsName returns the Windows form of a host name.
func windowsName(host string) string {
	if runtime.GOOS == "windows" || !strings.ContainsFunc(host, isForbidden) {
		return host
	}
	return strings.Map(func(r rune) rune {
		if isForbidden(r) {
			return r + privateUse
		}
		return r
	}, host)
}

// hostName returns the host's form of a Windows name.
func hostName(name string) string {
	mapped := func(r rune) bool { return isForbidden(r - privateUse) }
	if runtime.GOOS == "windows" || !strings.ContainsFunc(name, mapped) {
		return name
	}
	return strings.Map(func(r rune) rune {
		if mapped(r) {
			return r - privateUse
		}
		return r
	}, name)
}

// windowsNames maps the names of a path.
func windowsNames(host []string) []string {
	names := make([]string, len(host))
	for i, name := range host {
		names[i] = windowsName(name)
	}
	return names
}
