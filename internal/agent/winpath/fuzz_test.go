// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// A second, naive implementation of the grammar, to compare Parse with.
var (
	naivePath     = regexp.MustCompile(`^(?:[A-Za-z]:)?\\(?:[^\\]|$|\\)`)
	naiveReserved = regexp.MustCompile(`[<>:"/|?*\x00-\x1f\x7f-\x{9f}]`)
	naiveEnding   = regexp.MustCompile(`[. ]$`)
	naiveDevice   = regexp.MustCompile(`^(?i:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)`)
	naiveShort    = regexp.MustCompile(`^([^.]*~[0-9]+)(?:\.([^.]*))?$`)
)

func naivelyAccepted(text string, slash bool) bool {
	if slash {
		text = strings.ReplaceAll(text, "/", `\`)
	}
	length := func(s string) int { return len(utf16.Encode([]rune(s))) }
	rooted := strings.HasPrefix(text, `\`)
	total := length(text)
	if rooted {
		total += len("C:")
	}
	if !utf8.ValidString(text) || !naivePath.MatchString(text) || strings.HasPrefix(text, `\\`) ||
		strings.HasPrefix(text, `\??\`) || total > 260 {
		return false
	}
	if !rooted {
		text = text[len("C:"):]
	}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '\\' }) {
		if naiveReserved.MatchString(name) || naiveEnding.MatchString(name) ||
			naiveDevice.MatchString(name) || length(name) > 255 {
			return false
		}
		if m := naiveShort.FindStringSubmatch(name); len(m) > 0 && length(m[1]) <= 8 && length(m[2]) <= 3 {
			return false
		}
	}
	return true
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`C:\var\lib\kubelet`, `\var\lib\`, `c:/var/lib`, `\\server\share`, `\\?\C:\x`, `\??\C:\x`,
		`C:\..`, `C:\a..b`, `C:\nul.x`,
		`C:\COM¹`, `C:\KUBELE~1`, `C:\kubernetes.io~csi`, "C:\\\xFF", `C:x`, `C:\x:y`, `C:\x. `,
		"C:\\\U0001F4BE~1", ``, `C:\conın$`,
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, slash bool) {
		p, err := Parse(text, Options{ForwardSlash: slash})
		if got, want := err == nil, naivelyAccepted(text, slash); got != want {
			t.Fatalf("%q: accepted %v (%v), the naive grammar says %v", text, got, err, want)
		}
		if err != nil {
			if refusal := (*Error)(nil); !errors.As(err, &refusal) || !p.IsZero() {
				t.Errorf("%q: %v, error %v", text, p, err)
			}
			if message := err.Error(); !utf8.ValidString(message) ||
				strings.ContainsAny(message, "\n\r\x00\x1b") || len(message) > 4000 {
				t.Errorf("%q: error %q", text, message)
			}
			return
		}
		again, err := Parse(p.String(), Options{})
		if err != nil || again != p {
			t.Errorf("%q parsed as %s, which parses as %s, %v", text, p, again, err)
		}
		rebuilt := Path{text: p.text[:len(`C:\`)]}
		parent := rebuilt
		for _, name := range p.Components() {
			parent = rebuilt
			if rebuilt, err = rebuilt.Join(name); err != nil {
				t.Fatal(err)
			}
		}
		if rebuilt != p {
			t.Errorf("%s is made of %q", p, p.Components())
		}
		if len(p.Components()) > 0 {
			if joined, err := parent.Join(p.Base()); err != nil || joined != p {
				t.Errorf("%s is not %s and %q", p, parent, p.Base())
			}
		}
		if !p.Equal(again) || Fold(p.Key()) != p.Key() {
			t.Errorf("%s folds to %s", p, p.Key())
		}
		w, err := NewWorkingDirs([]string{parent.String(), `C:\var\lib\kubelet`})
		if err != nil {
			t.Fatal(err)
		}
		if root, rest, ok := w.Find(p); !ok || len(p.Components())-len(rest) != len(root.Components()) {
			t.Errorf("%s is in its parent at %s, %q, %v", p, root, rest, ok)
		}
	})
}

func FuzzParseVolumeID(f *testing.F) {
	f.Add(exampleVolume)
	f.Add("volume{" + strings.ToUpper(exampleGUID) + "}")
	f.Add(`\\?\Volume{01234567-89ab-cdef-0123-456789abcdef}\x`)
	naive := regexp.MustCompile(`^(?:\\\\\?\\)?(?i:volume)\{([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})\}\\?$`)
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseVolumeID(text)
		m := naive.FindStringSubmatch(text)
		if strings.HasSuffix(text, "\n") {
			m = nil
		}
		if (err == nil) != (m != nil) {
			t.Fatalf("%q: %v, the naive grammar says %v", text, err, m != nil)
		}
		if err != nil {
			return
		}
		if want := `\\?\Volume{` + strings.ToLower(m[1]) + `}\`; id.String() != want {
			t.Errorf("%q: got %s, want %s", text, id, want)
		}
		if again, err := ParseVolumeID(id.String()); err != nil || again != id {
			t.Errorf("%s parses as %s, %v", id, again, err)
		}
	})
}

func FuzzParseSubstituteName(f *testing.F) {
	for _, name := range []string{
		`\??\Volume{` + exampleGUID + `}\a`, exampleVolume, `\??\C:\dir`, `C:\dir`,
		`\??\UNC\server\share\a`, `\\server\share\sub\`,
		`..\dir`, `\dir`, `\??\GLOBALROOT\x`, `\\.\x\y`, `\\?\`, `C:dir`,
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		target, err := ParseSubstituteName(name)
		if err != nil {
			if refusal := (*Error)(nil); !errors.As(err, &refusal) || target.Kind != 0 {
				t.Errorf("%q: %+v, error %v", name, target, err)
			}
			return
		}
		parts := target.Rest
		switch target.Kind {
		case TargetVolume:
		case TargetLocal:
			parts = target.Path.Components()
			if !naivelyAccepted(target.Path.String(), false) {
				t.Errorf("%q leads to %s", name, target.Path)
			}
		case TargetUNC:
			u := target.UNC
			parts = append([]string{u.Server, u.Share}, u.Rest...)
			again, err := ParseUNC(u.String())
			if err != nil || again.String() != u.String() {
				t.Errorf("%q leads to %s, which parses as %s, %v", name, u, again, err)
			}
		case TargetRelative:
			if target.Text != name || strings.HasPrefix(name, `\\`) || strings.HasPrefix(name, `\??\`) ||
				len(name) > 1 && name[1] == ':' {
				t.Errorf("%q is relative: %q", name, target.Text)
			}
			return
		default:
			t.Errorf("%q: kind %d", name, target.Kind)
		}
		for _, part := range parts {
			if !naivelyAccepted(`C:\`+part, false) && len(part) < 200 || strings.ContainsAny(part, `\/`) || part == "" {
				t.Errorf("%q has the part %q", name, part)
			}
		}
	})
}
