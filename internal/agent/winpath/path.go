// SPDX-License-Identifier: Apache-2.0

// Package winpath is the grammar of Windows paths and names as the agent accepts them from callers, and the policy on
// where a caller may work. It looks at text only, does no I/O and builds on every operating system. Other packages find
// out where a path leads, handle by handle, starting at the working directory that Find returns.
//
// The grammar is narrower than Windows' on purpose. It refuses what Windows would quietly turn into another name, such
// as a trailing dot, a short name or a device name: two texts that differ here never mean the same file.
package winpath

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxPath is the length in UTF-16 units, including the drive, of the longest path that callers may name.
const maxPath = 260

// defaultDrive is the drive of a path without one, \dir, as drivers mean it, whatever the agent's current drive is.
const defaultDrive = 'C'

// notAbsolute is the text that operators of drivers know for a path that does not begin at a drive.
const notAbsolute = "not an absolute Windows path"

// Path is an absolute path on a drive: a letter and names, in the caller's spelling. It is immutable and comparable;
// different spellings are Equal but not ==. The zero Path is no path: its text is empty, its drive 0.
type Path struct {
	text string // "C:\" or "C:\var\lib", without a trailing separator
}

// Options select the spellings that Parse accepts.
type Options struct {
	// ForwardSlash reads / as \. Without it, / is refused.
	ForwardSlash bool
}

// Parse parses a caller's path: X:\..., or \... on drive C. The drive letter becomes upper case; repeated and trailing
// separators are dropped. It refuses a relative path, one on the network or in the device namespace, . and .., names
// that are devices' or may be generated short names, reserved and control characters, a dot or blank at a name's end,
// names of more than 255 and paths of more than 260 UTF-16 units. Errors are *Error.
func Parse(text string, o Options) (Path, error) {
	original := text
	if !utf8.ValidString(text) {
		return Path{}, refuse(original, "is not valid UTF-8")
	}
	if o.ForwardSlash {
		text = strings.ReplaceAll(text, "/", `\`)
	}
	drive, rest := byte(defaultDrive), text
	if !strings.HasPrefix(text, `\`) {
		if !HasDrive(text) {
			return Path{}, refuse(original, notAbsolute)
		}
		drive, rest = text[0]&^0x20, text[2:]
	} else if problem := checkRooted(text); problem != "" {
		return Path{}, refuse(original, "%s", problem)
	}
	if !strings.HasPrefix(rest, `\`) {
		return Path{}, refuse(original, "%s: the drive must be followed by a backslash", notAbsolute)
	}
	if units(rest)+2 > maxPath {
		return Path{}, refuse(original, "is longer than %d characters", maxPath)
	}
	p := Path{text: string(drive) + `:\`}
	for name := range strings.SplitSeq(rest, `\`) {
		if name == "" {
			continue
		}
		if problem := checkComponent(name); problem != "" {
			return Path{}, refuse(original, "%s", problem)
		}
		p = p.append(name)
	}
	return p, nil
}

// checkRooted returns why a path that begins with a backslash is refused, or "".
func checkRooted(text string) (problem string) {
	switch {
	case strings.HasPrefix(text, `\\?\`), strings.HasPrefix(text, `\\.\`), strings.HasPrefix(text, `\??\`):
		return `is in the device namespace (\\?\, \\.\), which callers may not name`
	case strings.HasPrefix(text, `\\`):
		return "is a network path; " + notAbsolute
	}
	return ""
}

// HasDrive reports whether a text begins with a drive, "C:".
func HasDrive(text string) bool {
	return len(text) >= 2 && text[1] == ':' && 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z'
}

func (p Path) append(name string) Path {
	if strings.HasSuffix(p.text, `\`) {
		return Path{text: p.text + name}
	}
	return Path{text: p.text + `\` + name}
}

// IsZero reports whether p is the zero Path.
func (p Path) IsZero() bool { return p.text == "" }

// String returns the path as people write it: C:\ or C:\var\lib. Parse returns the same Path for it.
func (p Path) String() string { return p.text }

// Extended returns the path with the prefix that keeps Windows from interpreting it: \\?\C:\var\lib.
func (p Path) Extended() string { return `\\?\` + p.text }

// Drive returns the upper-case letter of the drive.
func (p Path) Drive() byte {
	if p.IsZero() {
		return 0
	}
	return p.text[0]
}

// Components returns the names from the root on, none for the root itself. The caller may change the slice.
func (p Path) Components() []string {
	if len(p.text) <= len(`C:\`) {
		return nil
	}
	return strings.Split(p.text[len(`C:\`):], `\`)
}

// Base returns the last component, "" for a root.
func (p Path) Base() string {
	return p.text[strings.LastIndexByte(p.text, '\\')+1:]
}

// Join returns the path of name in the directory p. The name must follow the rules of Parse for components.
func (p Path) Join(name string) (Path, error) {
	if p.IsZero() {
		return Path{}, refuse(name, notAbsolute)
	}
	joined := p.append(name)
	if problem := checkComponent(name); problem != "" {
		return Path{}, refuse(joined.text, "%s", problem)
	}
	if units(joined.text) > maxPath {
		return Path{}, refuse(joined.text, "is longer than %d characters", maxPath)
	}
	return joined, nil
}

// Equal reports whether two paths are the same except for the case of letters.
func (p Path) Equal(q Path) bool { return p.Key() == q.Key() }

// Key returns the same text for all spellings of a path that are Equal; it is meant for maps and locks.
func (p Path) Key() string { return Fold(p.text) }

// Below returns the components of p below the directory, none for itself. Ok is false if p is elsewhere.
func (p Path) Below(directory Path) (rest []string, ok bool) {
	all, upper := p.Components(), directory.Components()
	if p.Drive() != directory.Drive() || len(all) < len(upper) {
		return nil, false
	}
	same := slices.EqualFunc(all[:len(upper)], upper, func(a, b string) bool { return Fold(a) == Fold(b) })
	return all[len(upper):], same
}
