// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) Path {
	t.Helper()
	p, err := Parse(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, test := range []struct {
		text    string
		slash   bool
		want    string // "": refused
		problem string // a part of the error
	}{
		{text: `C:\var\lib\kubelet`, want: `C:\var\lib\kubelet`},
		{text: `c:\Var\lib`, want: `C:\Var\lib`},
		{text: `z:\`, want: `Z:\`},
		{text: `\var\lib`, want: `C:\var\lib`},
		{text: `\`, want: `C:\`},
		{text: `C:\var\\lib\\\x\`, want: `C:\var\lib\x`},
		{text: `C:\\var`, want: `C:\var`},
		{text: `C:/var/lib`, slash: true, want: `C:\var\lib`},
		{text: `/var\lib/`, slash: true, want: `C:\var\lib`},
		{text: `C:\a..b\..c\.d\…`, want: `C:\a..b\..c\.d\…`},
		{text: `C:\plugins\kubernetes.io~csi\pvc-1~22x`, want: `C:\plugins\kubernetes.io~csi\pvc-1~22x`},
		{text: `C:\a~1.b.c\a~1.text\longname~1\~\a~b\a~1b`, want: `C:\a~1.b.c\a~1.text\longname~1\~\a~b\a~1b`},
		{text: "C:\\%SystemRoot%\\$(calc.exe)\\`calc`\\' OR '1'='1\\{}\\-Force\\; #\\e\u0301\\\u202etxt\\ſ",
			want: "C:\\%SystemRoot%\\$(calc.exe)\\`calc`\\' OR '1'='1\\{}\\-Force\\; #\\e\u0301\\\u202etxt\\ſ"},
		{text: `C:\ leading blank\x y`, want: `C:\ leading blank\x y`},
		{text: `C:\CONSOLE\COM\COM10\LPTX\nul-1\auxiliary`, want: `C:\CONSOLE\COM\COM10\LPTX\nul-1\auxiliary`},
		{text: `C:\` + long + `\` + strings.Repeat("b", 56), want: `C:\` + long + `\` + strings.Repeat("b", 56)}, // 260
		{text: `\` + long + `\` + strings.Repeat("b", 56), want: `C:\` + long + `\` + strings.Repeat("b", 56)},
		{text: `C:\` + strings.Repeat("ü", 255), want: `C:\` + strings.Repeat("ü", 255)},
		{text: `C:\` + strings.Repeat("\U0001F4BE", 127), want: `C:\` + strings.Repeat("\U0001F4BE", 127)},

		{text: ``, problem: "not an absolute Windows path"},
		{text: `var\lib`, problem: "not an absolute Windows path"},
		{text: `C:`, problem: "not an absolute Windows path"},
		{text: `C:var`, problem: "not an absolute Windows path"},
		{text: `.\var`, problem: "not an absolute Windows path"},
		{text: `é:\var`, problem: "not an absolute Windows path"},
		{text: `1:\var`, problem: "not an absolute Windows path"},
		{text: `[:\var`, problem: "not an absolute Windows path"},
		{text: `CC:\var`, problem: "not an absolute Windows path"},
		{text: `/var/lib`, problem: "not an absolute Windows path"},
		{text: `C:/var`, problem: "not an absolute Windows path"},
		{text: `C:\var/lib`, problem: "reserved character /"},
		{text: `\\server\share`, problem: "network path"},
		{text: `//server/share`, slash: true, problem: "network path"},
		{text: `\\`, problem: "network path"},
		{text: `\\?\C:\var`, problem: "device namespace"},
		{text: `\\.\PhysicalDrive0`, problem: "device namespace"},
		{text: `\??\C:\var`, problem: "device namespace"},
		{text: `//?/C:/var`, slash: true, problem: "device namespace"},
		{text: `\var\\?\C:\x`, problem: "reserved character ?"},
		{text: `C:\var\..\x`, problem: `".." component`},
		{text: `C:\..`, problem: `".." component`},
		{text: `C:\.\x`, problem: `"." component`},
		{text: `C:\x.`, problem: "dot or blank"},
		{text: `C:\x \y`, problem: "dot or blank"},
		{text: `C:\...`, problem: "dot or blank"},
		{text: `C:\.. `, problem: "dot or blank"},
		{text: `C:\x:stream`, problem: "reserved character :"},
		{text: `C:\C:\x`, problem: "reserved character :"},
		{text: `C:\a<b`, problem: "reserved character <"},
		{text: `C:\a>b`, problem: "reserved character >"},
		{text: `C:\a"b`, problem: `reserved character "`},
		{text: `C:\a|b`, problem: "reserved character |"},
		{text: `C:\a*b`, problem: "reserved character *"},
		{text: "C:\\a\x00b", problem: "control character U+0000"},
		{text: "C:\\a\nb", problem: "control character U+000A"},
		{text: "C:\\a\x7Fb", problem: "control character U+007F"},
		{text: "C:\\a\u0085b", problem: "control character U+0085"},
		{text: "C:\\a\xFFb", problem: "not valid UTF-8"},
		{text: "C:\\a\xED\xA0\x80b", problem: "not valid UTF-8"},
		{text: `C:\nul`, problem: "device name"},
		{text: `C:\NUL.txt\x`, problem: "device name"},
		{text: `C:\con .a.b`, problem: "device name"},
		{text: `C:\conin$`, problem: "device name"},
		{text: `C:\CONOUT$.x`, problem: "device name"},
		{text: `C:\Com0`, problem: "device name"},
		{text: `C:\lpt9.log`, problem: "device name"},
		{text: `C:\COM¹`, problem: "device name"},
		{text: `C:\LPT³.x`, problem: "device name"},
		{text: `C:\KUBELE~1`, problem: "short name"},
		{text: `C:\var\lib\a~12.txt`, problem: "short name"},
		{text: `C:\~1`, problem: "short name"},
		{text: `C:\` + long + `\` + strings.Repeat("b", 57), problem: "longer than 260"},
		{text: `\` + long + `\` + strings.Repeat("b", 57), problem: "longer than 260"},
		{text: `C:` + strings.Repeat(`\`, 259), problem: "longer than 260"},
		{text: `C:\` + strings.Repeat("a", 256), problem: "more than 255"},
		{text: `C:\` + strings.Repeat("\U0001F4BE", 128), problem: "more than 255"},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := Parse(test.text, Options{ForwardSlash: test.slash})
			if got.String() != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			if test.want != "" {
				return
			}
			refusal := (*Error)(nil)
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Problem, test.problem) || refusal.Path != test.text {
				t.Errorf("error %v, want one about %q", err, test.problem)
			}
		})
	}
}

func TestPath(t *testing.T) {
	type view struct {
		Drive                string
		Components           []string
		Base, Extended, Text string
	}
	for text, want := range map[string]view{
		`c:\`:        {"C", nil, "", `\\?\C:\`, `C:\`},
		`d:\Var`:     {"D", []string{"Var"}, "Var", `\\?\D:\Var`, `D:\Var`},
		`\Var\lib\x`: {"C", []string{"Var", "lib", "x"}, "x", `\\?\C:\Var\lib\x`, `C:\Var\lib\x`},
	} {
		p := mustParse(t, text)
		got := view{string(p.Drive()), p.Components(), p.Base(), p.Extended(), p.String()}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", text, diff)
		}
		if len(p.Components()) != len(want.Components) {
			t.Errorf("%s: length %d, want %d", text, len(p.Components()), len(want.Components))
		}
	}
	var none Path
	if !none.IsZero() || none.Drive() != 0 || len(none.Components()) != 0 || none.Base() != "" ||
		none.Components() != nil {
		t.Error("the zero path is something")
	}
}

func TestJoin(t *testing.T) {
	for _, test := range []struct {
		dir, name, want string
	}{
		{`C:\`, "x", `C:\x`},
		{`C:\x`, "a..b", `C:\x\a..b`},
		{`C:\x`, "..", ""},
		{`C:\x`, "", ""},
		{`C:\x`, `y\z`, ""},
		{`C:\x`, "y/z", ""},
		{`C:\x`, "nul", ""},
		{`C:\x`, "\xFF", ""},
		{`C:\` + strings.Repeat("a", 200), strings.Repeat("b", 57), ""},
	} {
		got, err := mustParse(t, test.dir).Join(test.name)
		if got.String() != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s and %q: got %q, %v, want %q", test.dir, test.name, got, err, test.want)
		}
	}
	if got, err := (Path{}).Join("x"); err == nil {
		t.Errorf("nowhere and x: got %q", got)
	}
}

func TestEqual(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`C:\Var\LIB`, `c:\var\lib`, true},
		{`C:\var`, `D:\var`, false},
		{`C:\var`, `C:\var2`, false},
		{`C:\Ünïcode\ЖЁ\ΩΣ\VIỆT\ŸＫ`, `C:\üNÏCODE\жё\ωσ\việt\ÿｋ`, true},
		{`C:\STRASSE`, `C:\straße`, false},
		{`C:\ß`, `C:\ẞ`, false},
		{`C:\ς`, `C:\σ`, false},
		{"C:\\\u212B", `C:\å`, false},               // ANGSTROM SIGN
		{`C:\KUBELET`, "C:\\\u212Aubelet", false},   // KELVIN SIGN
		{`C:\PODS`, "C:\\pod\u017F", false},         // LATIN SMALL LETTER LONG S
		{`C:\LIB`, "C:\\l\u0131b", false},           // LATIN SMALL LETTER DOTLESS I
		{`C:\lib`, "C:\\L\u0130B", false},           // LATIN CAPITAL LETTER I WITH DOT ABOVE
		{"C:\\\u00B5", "C:\\\u039C", false},         // MICRO SIGN, GREEK CAPITAL LETTER MU
		{"C:\\\u01C5", "C:\\\u01C4", false},         // a title-case letter
		{"C:\\\u10D0", "C:\\\u1C90", false},         // Georgian letters got upper case in Unicode 11
		{"C:\\\uAB70", "C:\\\u13A0", false},         // Cherokee in Unicode 8
		{"C:\\\u1EFB", "C:\\\u1EFA", false},         // Middle Welsh in Unicode 5.1
		{"C:\\\u1E9B", "C:\\\u1E60", false},         // one-way
		{"C:\\\U00010400", "C:\\\U00010428", false}, // Deseret, outside the 16 bits that NTFS compares
	} {
		a, b := mustParse(t, test.a), mustParse(t, test.b)
		if got := a.Equal(b); got != test.want {
			t.Errorf("%s and %s: %v, want %v", a, b, got, test.want)
		}
		if got := a.Key() == b.Key(); got != test.want {
			t.Errorf("keys of %s and %s: %v, want %v", a, b, got, test.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		`C:\var\lib`:                 `"C:\var\lib"`,
		"a\nb\"c<d>\x00":             `"a<U+000A>b<U+0022>c<U+003C>d<U+003E><U+0000>"`,
		"\xFFé\u202Ex":               `"<FF>é<U+202E>x"`,
		strings.Repeat("ü", 200):     `"` + strings.Repeat("ü", 200) + `"`,
		strings.Repeat("ü", 1000000): `"` + strings.Repeat("ü", 200) + `"… (2000000 bytes)`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	err := &Error{Path: "C:\\x\n", Problem: "is odd"}
	if got, want := err.Error(), `path "C:\x<U+000A>": is odd`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
