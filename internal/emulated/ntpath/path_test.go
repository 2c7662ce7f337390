// SPDX-License-Identifier: Apache-2.0

package ntpath

import (
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

func FuzzParsePath(f *testing.F) {
	for _, path := range []string{`C:\a\b`, `\\?\C:\a`, `\\?\Volume{00000000-0000-0000-0000-000000000001}\x`, `\\?\UNC\s\h\x`, `/a/../b. `, `C:`, `\\?\C:`,
		`\\.\x`, `c:\..\..\a`} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, parse := range []func(string) (Path, error){ParseWin32, ParseVerbatim, ParseSubstitute} {
			p, err := parse(path)
			if err != nil {
				continue
			}
			if p.Letter == "" && p.Volume == (guid.GUID{}) && !p.UNC && !strings.Contains(path, "00000000") {
				t.Errorf("%q starts nowhere: %+v", path, p)
			}
			for _, name := range p.Names {
				if !hostfiles.IsFileName(name) || strings.ContainsAny(name, `/\`) {
					t.Errorf("%q has the name %q", path, name)
				}
				if !hostfiles.SameName(name, name) {
					t.Errorf("the name %q is not its own", name)
				}
			}
		}
		if target, err := RelativeTarget(Path{Names: []string{"a", "b"}}, path); err == nil {
			for _, name := range target.Names {
				if !hostfiles.IsFileName(name) {
					t.Errorf("relative target %q has the name %q", path, name)
				}
			}
		}
	})
}
