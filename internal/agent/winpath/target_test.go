// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSubstituteName(t *testing.T) {
	volume, err := ParseVolumeID(exampleVolume)
	if err != nil {
		t.Fatal(err)
	}
	local := func(text string) *Target { return &Target{Kind: TargetLocal, Path: mustParse(t, text)} }
	for name, want := range map[string]*Target{ // nil: refused
		`\??\Volume{` + exampleGUID + `}\`:    {Kind: TargetVolume, Volume: volume},
		`\??\volume{` + exampleGUID + `}`:     {Kind: TargetVolume, Volume: volume},
		`\??\Volume{` + exampleGUID + `}\a\b`: {Kind: TargetVolume, Volume: volume, Rest: []string{"a", "b"}},
		`\??\Volume{` + exampleGUID + `}\a\`:  {Kind: TargetVolume, Volume: volume, Rest: []string{"a"}},
		exampleVolume:                         {Kind: TargetVolume, Volume: volume},
		`\??\C:\var\lib`:                      local(`C:\var\lib`),
		`\??\c:\`:                             local(`C:\`),
		`\\?\D:\data`:                         local(`D:\data`),
		`C:\dir`:                              local(`C:\dir`),
		`\??\UNC\server\share`:                {Kind: TargetUNC, UNC: UNC{Server: "server", Share: "share"}},
		`\??\unc\server\share\a\b`:            {Kind: TargetUNC, UNC: UNC{"server", "share", []string{"a", "b"}}},
		`\\?\UNC\server\share\`:               {Kind: TargetUNC, UNC: UNC{Server: "server", Share: "share"}},
		`\\fs.example.com\share$\sub\`: {Kind: TargetUNC, UNC: UNC{"fs.example.com", "share$",
			[]string{"sub"}}},
		`dir`:                          {Kind: TargetRelative, Text: `dir`},
		`..\..\dir`:                    {Kind: TargetRelative, Text: `..\..\dir`},
		`\dir`:                         {Kind: TargetRelative, Text: `\dir`},
		`Volume{` + exampleGUID + `}\`: {Kind: TargetRelative, Text: `Volume{` + exampleGUID + `}\`},

		``:                                    nil,
		`\??\`:                                nil,
		`\??\dir`:                             nil,
		`\??\\dir`:                            nil,
		`\??\C:dir`:                           nil,
		`\??\C:\a\..\b`:                       nil,
		`\??\C:\a.`:                           nil,
		`\??\C:\KUBELE~1`:                     nil,
		`\??\PhysicalDrive0`:                  nil,
		`\??\GLOBALROOT\Device\Harddisk0`:     nil,
		`\??\Volume{` + exampleGUID + `}x`:    nil,
		`\??\Volume{` + exampleGUID + `}\..`:  nil,
		`\??\Volume{` + exampleGUID + `}\\a`:  nil,
		`\??\Volume{` + exampleGUID[1:] + `}`: nil,
		`\??\UNC\server`:                      nil,
		`\??\UNC\\share`:                      nil,
		`\\server`:                            nil,
		`\\server\`:                           nil,
		`\\.\pipe\x`:                          nil,
		`\\server\share\..\x`:                 nil,
		`\\server\share\\x`:                   nil,
		`C:`:                                  nil,
		`C:dir`:                               nil,
		`x:stream`:                            nil,
		"C:\\a\xED\xA0\x80":                   nil,
	} {
		got, err := ParseSubstituteName(name)
		if want == nil {
			if refusal := (*Error)(nil); !errors.As(err, &refusal) {
				t.Errorf("%q accepted as %+v, error %v", name, got, err)
			}
			continue
		}
		if diff := cmp.Diff(got, *want, cmp.AllowUnexported(Path{})); err != nil || diff != "" {
			t.Errorf("%q: %v, -got +want:\n%s", name, err, diff)
		}
	}
}

func TestParseUNC(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // "": refused
	}{
		{`\\server\share`, `\\server\share`},
		{`\\server\share\`, `\\server\share`},
		{`\\10.0.0.1\Share\a\b`, `\\10.0.0.1\Share\a\b`},
		{`//server/share/a`, `\\server\share\a`},
		{`\server\share`, `\\server\share`},
		{`/server/share`, `\\server\share`},
		{`server\share\a`, `\\server\share\a`},
		{`\\\/server\\/share//a\\`, `\\server\share\a`},
		{``, ""},
		{`\\`, ""},
		{`server`, ""},
		{`\\server`, ""},
		{`\\server\`, ""},
		{`\\\share`, ""},
		{`\\server\share\..\x`, ""},
		{`\\?\UNC\server\share`, ""},
		{`\??\UNC\server\share`, ""},
		{`\\.\pipe\x`, ""},
		{`.\pipe\x`, ""},
		{`\\ser:ver\share`, ""},
		{`\\server\IPC|`, ""},
		{`C:\server\share`, ""},
	} {
		u, err := ParseUNC(test.text)
		got := ""
		if err == nil {
			got = u.String()
		}
		if got != test.want {
			t.Errorf("%q: got %q, %v, want %q", test.text, got, err, test.want)
		}
	}
}
