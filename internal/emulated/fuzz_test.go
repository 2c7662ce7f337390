// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

func FuzzDecodeState(f *testing.F) {
	text, err := encodeState(state{Switches: DefaultSwitches(),
		Disks: []bundle.Record{{Image: hostfiles.NewName(), Spec: bundle.Spec{SectorSize: 512}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"node":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decodeState(text)
		if err != nil {
			return
		}
		again, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeState(again); err != nil || !cmp.Equal(s, got) {
			t.Errorf("%+v is read again as %+v, %v", s, got, err)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, path := range []string{`C:\a\b`, `\\?\C:\a`, unknownVolume + `x`, `\\?\UNC\s\h\x`, `/a/../b. `, `C:`, `\\?\C:`,
		`\\.\x`, `c:\..\..\a`} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, parse := range []func(string) (ntPath, error){parseWin32, parseVerbatim, parseSubstitute} {
			p, err := parse(path)
			if err != nil {
				continue
			}
			if p.letter == 0 && p.volume == (guid.GUID{}) && !p.unc && !strings.Contains(path, "00000000") {
				t.Errorf("%q starts nowhere: %+v", path, p)
			}
			for _, name := range p.names {
				if !hostfiles.IsFileName(name) || strings.ContainsAny(name, `/\`) {
					t.Errorf("%q has the name %q", path, name)
				}
				if hostfiles.HostName(hostfiles.WindowsName(name)) != hostfiles.HostName(name) || !hostfiles.SameName(name, name) {
					t.Errorf("the name %q changes", name)
				}
			}
		}
		if target, err := relativeTarget(ntPath{names: []string{"a", "b"}}, path); err == nil {
			for _, name := range target.names {
				if !hostfiles.IsFileName(name) {
					t.Errorf("relative target %q has the name %q", path, name)
				}
			}
		}
	})
}
