// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	readAndRun = FILE_GENERIC_READ | FILE_GENERIC_EXECUTE
	modify     = readAndRun | FILE_GENERIC_WRITE | DELETE
)

func TestParseSID(t *testing.T) {
	for _, text := range []string{"S-1-5-18", "S-1-5-93-2-2", "S-1-1-0", "S-1-5-21-4294967295-0-1-500",
		"S-1-4294967295-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15"} {
		sid, err := ParseSID(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if back, err := parseSIDBytes(sid.Bytes()); back != sid || err != nil {
			t.Errorf("%s: back as %s, %v", text, back, err)
		}
	}
	for _, text := range []string{"", "S-1-", "S-1-5", "s-1-5-18", "S-2-5-18", "S-1-5-018", "S-1-5-+18", "S-1-5--18",
		"S-1-5-18 ", " S-1-5-18", "S-1-5-4294967296", "S-1-0x5-18", "S-1-5-\u0661", "BA", "ContainerUser",
		"S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16"} {
		if sid, err := ParseSID(text); err == nil {
			t.Errorf("%q is %s", text, sid)
		}
	}
}

// FuzzSID: every text is refused or means what its bytes mean, and no descriptor makes the parser panic.
func FuzzSID(f *testing.F) {
	f.Add("S-1-5-93-2-2", ntfsRoot())
	f.Fuzz(func(t *testing.T, text string, descriptor []byte) {
		if sid, err := ParseSID(text); err == nil {
			if back, err := parseSIDBytes(sid.Bytes()); string(back) != text || err != nil {
				t.Errorf("%q is back as %q, %v", text, back, err)
			}
		}
		l, err := ParseAccessList(descriptor)
		if err != nil || l.Everyone {
			return
		}
		l.Add(NewAccessEntry(SystemSID(), FILE_ALL_ACCESS))
		if l.Add(NewAccessEntry(SystemSID(), FILE_ALL_ACCESS)) {
			t.Error("it is missing after it was added")
		}
		if b := l.Bytes(); b != nil {
			again, err := ParseAccessList(b)
			if diff := cmp.Diff(l.Allowed(), again.Allowed()); err != nil || diff != "" {
				t.Errorf("%v, -first +again:\n%s", err, diff)
			}
		}
	})
}

// ntfsRoot is a descriptor by the layouts of [MS-DTYP] 2.4: SYSTEM has full control of the directory and, in an entry of
// its own, of what is made below; Administrators of both in one; and everyone has an inherited right to read.
func ntfsRoot() []byte {
	b, _ := hex.DecodeString("0100048000000000000000000000000014000000" + "02005c0004000000" +
		"00001400ff011f00" + "010100000000000512000000" +
		"000b140000000010" + "010100000000000512000000" +
		"00031800ff011f00" + "01020000000000052000000020020000" +
		"00131400a9001200" + "010100000000000100000000")
	return b
}

func TestAccessList(t *testing.T) {
	l, err := ParseAccessList(ntfsRoot())
	if err != nil {
		t.Fatal(err)
	}
	const world = "S-1-1-0"
	want := []AccessEntry{{SystemSID(), FILE_ALL_ACCESS, 0}, {SystemSID(), GENERIC_ALL, 0xB}, {AdministratorsSID(), FILE_ALL_ACCESS, 3},
		{world, readAndRun, 0x13}}
	if diff := cmp.Diff(want, l.Allowed()); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if back := l.Bytes(); !bytes.Equal(back, ntfsRoot()) {
		t.Errorf("got %x", back)
	}
	for _, there := range []AccessEntry{NewAccessEntry(SystemSID(), FILE_ALL_ACCESS),
		NewAccessEntry(AdministratorsSID(), modify), NewAccessEntry(world, readAndRun)} {
		if l.Add(there) {
			t.Errorf("%+v was added once more", there)
		}
	}
	user := NewAccessEntry("S-1-5-93-2-2", modify)
	if !l.Add(user) || l.Add(user) {
		t.Error("an entry is not added once")
	}
	if diff := cmp.Diff(append(want[:3:3], user, want[3]), l.Allowed()); diff != "" {
		t.Errorf("behind those that are not inherited, -want +got:\n%s", diff)
	}
	none := ntfsRoot()
	none[16] = 0
	if l, err := ParseAccessList(none); err != nil || !l.Everyone || l.Add(user) {
		t.Errorf("without a list: %+v, %v", l, err)
	}
	for n := range ntfsRoot() {
		if _, err := ParseAccessList(ntfsRoot()[:n]); err == nil {
			t.Errorf("%d bytes parsed", n)
		}
	}
}
