// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestParseTargetName(t *testing.T) {
	for text, want := range map[string]targetName{
		"iqn.2001-04.com.example":                        "iqn.2001-04.com.example",
		"iqn.2001-04.com.example:storage:disk2.sys1.xyz": "iqn.2001-04.com.example:storage:disk2.sys1.xyz",
		"IQN.2026-12.Emulated:Open":                      "iqn.2026-12.emulated:open",
		"iqn.1991-05.com.microsoft:srv-1-target":         "iqn.1991-05.com.microsoft:srv-1-target",
		"eui.02004567A425678D":                           "eui.02004567a425678d",
		"naa.52004567BA64678D":                           "naa.52004567ba64678d",
		"naa.62004567BA64678D0123456789ABCDEF":           "naa.62004567ba64678d0123456789abcdef",
		"iqn.2001-04.com.example:" + strings.Repeat("a", 199): targetName("iqn.2001-04.com.example:" +
			strings.Repeat("a", 199)),

		"": "", "open": "", "iqn": "", "iqn.": "", "iqn.2001-04": "", "iqn.2001-04.": "",
		"iqn.2001-00.com": "", "iqn.2001-13.com": "",
		"iqn.01-04.com.example": "", "iqn.2001/04.com.example": "", "iqn.2001-04:com": "", "iqn.2001-04.com..example": "",
		"iqn.2001-04.-com": "", "iqn.2001-04.com.example:a b": "", "iqn.2001-04.com.example:a_b": "",
		"iqn.2001-04.com.example:ä":    "",
		"iqn.2001-04.com.example:\x00": "", `iqn.2001-04.com.example:\`: "", " iqn.2001-04.com.example": "",
		"iqn.2001-04.com.example\n": "",
		"eui.02004567A425678":       "", "eui.02004567A425678G": "", "eui.": "", "naa.52004567BA64678D0": "",
		"t10.abc": "", "iqn-2001.04.com": "",
		"iqn.2001-04.com.example:" + strings.Repeat("a", 200): "", "İqn.2001-04.com.example": "",
		"iqn.2001-04.com.example:\u212A": "",
	} {
		got, err := parseTargetName(text)
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if want == "" {
			wantError(t, err, errdefs.InvalidArgument, reason.InvalidTargetName)
		}
	}
}

func FuzzTargetName(f *testing.F) {
	for _, text := range []string{"iqn.2001-04.com.example:a", "eui.02004567A425678D", "naa.52004567BA64678D",
		"iqn.2001-04.", "\u212A\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := parseTargetName(text)
		if e := (*errdefs.Error)(nil); err != nil && (!errors.As(err, &e) || e.Class != errdefs.InvalidArgument ||
			!utf8.ValidString(e.Message)) {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		if again, err := parseTargetName(string(name)); again != name || err != nil || len(name) > maxTargetName ||
			strings.ContainsFunc(string(name), notInTargetName) {
			t.Errorf("%q became %q, then %q, %v", text, name, again, err)
		}
	})
}

func at(address string, port uint32) *api.TargetPortal {
	return &api.TargetPortal{TargetAddress: address, TargetPort: port}
}

func TestParsePortal(t *testing.T) {
	for _, test := range []struct {
		in   *api.TargetPortal
		want portal
		text string
	}{
		{at("192.0.2.10", 0), portal{"192.0.2.10", 3260}, "192.0.2.10:3260"},
		{at("192.0.2.10", 65535), portal{"192.0.2.10", 65535}, "192.0.2.10:65535"},
		{at("2001:DB8::1", 1), portal{"2001:DB8::1", 1}, "[2001:DB8::1]:1"},
		{at("fe80::1%7", 0), portal{"fe80::1%7", 3260}, "[fe80::1%7]:3260"},
		{at("Array-1.Example", 0), portal{"Array-1.Example", 3260}, "Array-1.Example:3260"},
		{in: at("", 3260)},
		{in: at("192.0.2.10", 65536)},
		{in: at("192.0.2", 0)},
		{in: at("192.0.2.010", 0)},
		{in: at("3221225994", 0)},
		{in: at("a..b", 0)},
		{in: at("a_b", 0)},
		{in: at("fe80::1%a b", 0)},
		{in: at("arra\u212A", 0)},
		{in: at(strings.Repeat("a", 64), 0)},
		{in: at(strings.Repeat("a.", 127), 0)},
	} {
		got, err := parsePortal(test.in)
		if got != test.want {
			t.Errorf("%+v: got %+v, want %+v", test.in, got, test.want)
		}
		if test.text == "" {
			wantError(t, err, errdefs.InvalidArgument, reason.InvalidTargetPortal)
		} else if got.String() != test.text {
			t.Errorf("%+v: shown as %s, want %s", test.in, got, test.text)
		}
	}
	for _, same := range [][2]string{{"2001:DB8::1", "2001:db8:0::1"}, {"Array.Example", "array.example"}} {
		if a, b := (portal{same[0], 1}), (win32.ISCSITargetPortal{Address: same[1], Socket: 1}); !a.is(b) {
			t.Errorf("%s and %s are two", a, same[1])
		}
	}
	if (portal{"a", 1}).is(win32.ISCSITargetPortal{Address: "a", Socket: 2}) {
		t.Error("two ports are one portal")
	}
}

func FuzzPortal(f *testing.F) {
	for _, text := range []string{"192.0.2.10", "2001:db8::1", "fe80::1%eth0", "array.example", "a..b", "\xff"} {
		f.Add(text, uint32(0))
	}
	f.Fuzz(func(t *testing.T, address string, port uint32) {
		p, err := parsePortal(at(address, port))
		if e := (*errdefs.Error)(nil); err != nil && (!errors.As(err, &e) || e.Class != errdefs.InvalidArgument ||
			!utf8.ValidString(e.Message)) {
			t.Errorf("%q: %v", address, err)
		}
		if err == nil && (p.port == 0 || len(p.address) > maxAddress ||
			strings.ContainsAny(p.address, "\\/ \x00\"") || !p.is(p.win32())) {
			t.Errorf("%q became %+v", address, p)
		}
	})
}
