// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWorkingDirs(t *testing.T) {
	w, err := NewWorkingDirs([]string{`C:\var\lib\kubelet`, `d:/data/`, `c:\VAR\lib\Kubelet`,
		`C:\var\lib\kubelet\plugins`, `\more`})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		root string // "": outside
		rest []string
	}{
		{`C:\var\lib\kubelet`, `C:\var\lib\kubelet`, []string{}},
		{`c:\VAR\LIB\KUBELET\Pods\x`, `C:\var\lib\kubelet`, []string{"Pods", "x"}},
		{`\var\lib\kubelet\pods`, `C:\var\lib\kubelet`, []string{"pods"}},
		{`C:\var\lib\kubelet\plugins\x`, `C:\var\lib\kubelet\plugins`, []string{"x"}},
		{`C:\var\lib\kubelet\plugins-2`, `C:\var\lib\kubelet`, []string{"plugins-2"}},
		{`D:\data`, `D:\data`, []string{}},
		{`C:\more\x`, `C:\more`, []string{"x"}},
		{`C:\var\lib\kubelet-x\pods`, "", nil},
		{`C:\var\lib\kubele`, "", nil},
		{`C:\var\lib`, "", nil},
		{`C:\`, "", nil},
		{`C:\data`, "", nil},
		{`D:\var\lib\kubelet`, "", nil},
		{"C:\\var\\lib\\\u212Aubelet", "", nil},
	} {
		p := mustParse(t, test.path)
		root, rest, ok := w.Find(p)
		if root.String() != test.root || ok != (test.root != "") || !cmp.Equal(rest, test.rest) {
			t.Errorf("%s: got %q, %q, %v, want %q, %q", p, root, rest, ok, test.root, test.rest)
		}
		checkedRoot, checkedRest, err := w.Check(p)
		if checkedRoot != root || !cmp.Equal(checkedRest, rest) || (err == nil) != ok {
			t.Errorf("%s: Check says %q, %q, %v; Find %q, %q", p, checkedRoot, checkedRest, err, root, rest)
		}
		if refusal := (*Error)(nil); !ok &&
			(!errors.As(err, &refusal) || !strings.Contains(err.Error(), "is not within the working directories")) {
			t.Errorf("%s: error %v", p, err)
		}
	}
	if got, want := w.String(), `C:\var\lib\kubelet\plugins, C:\var\lib\kubelet, D:\data, C:\more`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWorkingDirsNone(t *testing.T) {
	var w WorkingDirs
	if root, rest, ok := w.Find(mustParse(t, `C:\x`)); ok {
		t.Errorf("no directories permit %q, %q", root, rest)
	}
	all, err := NewWorkingDirs([]string{`C:\`})
	if err != nil {
		t.Fatal(err)
	}
	if root, rest, ok := all.Find(Path{}); ok {
		t.Errorf("no path is within %q, %q", root, rest)
	}
	if _, rest, ok := all.Find(mustParse(t, `C:\x\y`)); !ok || !cmp.Equal(rest, []string{"x", "y"}) {
		t.Errorf("below a drive: %q, %v", rest, ok)
	}
	for _, text := range []string{``, `data`, `C:data`, `\\server\share`, `C:\a\..\b`, `C:\KUBELE~1`} {
		if w, err := NewWorkingDirs([]string{`C:\x`, text}); err == nil {
			t.Errorf("%q accepted: %v", text, w)
		}
	}
}
