// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newLedger opens a new file of entries whose things are removed by removing.
func newLedger(t *testing.T, removing remover) *Ledger {
	t.Helper()
	l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	l.removers = map[Kind]remover{KindUser: removing, KindShare: removing}
	return l
}

func note(t *testing.T, l *Ledger, e Entry) Entry {
	t.Helper()
	e, err := l.Note(e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func names(entries []Entry) (list []string) {
	for _, e := range entries {
		list = append(list, e.Name)
	}
	return list
}

func TestLedgerEntriesRemainUntilStruckOut(t *testing.T) {
	l := newLedger(t, nil)
	first, second := note(t, l, Entry{Kind: KindUser, Name: "first"}), note(t, l, Entry{Kind: KindShare, Name: "second"})
	again, err := OpenLedger(l.path) // as another process
	if err != nil {
		t.Fatal(err)
	}
	same(t, again.Remaining(), []Entry{first, second})
	second.Mark = "known now"
	note(t, again, second)
	same(t, l.Remaining(), []Entry{first, second})
	for range 2 {
		if err := again.Strike(first); err != nil {
			t.Fatal(err)
		}
	}
	same(t, l.Remaining(), []Entry{second})
	note(t, l, first) // what is struck out stays so
	same(t, l.Remaining(), []Entry{second})
}

// Whatever part of the last write a power cut leaves, what was written before stands, and so does what is written then.
func TestTruncatedLedgerLines(t *testing.T) {
	line := func(r record) []byte {
		text, err := r.line()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	made := func(name string) []byte { return line(record{Made: &Entry{ID: name, Kind: KindUser, Name: name}}) }
	before, last, next := made("kept"), made("torn"), made("next")
	strikes := slices.Concat(line(record{Struck: "kept"}), line(record{Struck: "torn"}), line(record{Struck: "next"}))
	for length := range len(last) + 1 {
		for name, tail := range map[string][]byte{"cut": nil, "zeros": make([]byte, len(last)-length)} {
			want := []string{"kept", "next"}
			if length >= len(last)-1 { // all but the end of the line
				want = []string{"kept", "torn", "next"}
			}
			content := slices.Concat(before, last[:length], tail, next)
			if diff := cmp.Diff(names(parseLedger(content)), want); diff != "" {
				t.Errorf("%s after %d of %d bytes (-got +want):\n%s", name, length, len(last), diff)
			}
			if left := parseLedger(slices.Concat(content, strikes)); len(left) > 0 {
				t.Errorf("%s after %d bytes: %v is left", name, length, left)
			}
		}
	}
}

func TestSeveralProcessesNote(t *testing.T) {
	l := newLedger(t, nil)
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			own, err := OpenLedger(l.path)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 10 {
				e, err := own.Note(Entry{Kind: KindUser, Name: fmt.Sprintf("%d of %d", i, writer), Mark: strings.Repeat("m", 300)})
				if err == nil && i%2 == 0 {
					err = own.Strike(e)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	same(t, len(l.Remaining()), 4*5)
}

func TestCleanRemovesTheLastFirst(t *testing.T) {
	var removed []string
	l := newLedger(t, func(_ context.Context, e Entry) error {
		if e.Name == "stubborn" {
			return NotOurs("it has another comment")
		}
		removed = append(removed, e.Name)
		return nil
	})
	for _, name := range []string{"user", "stubborn", "share"} {
		note(t, l, Entry{Kind: KindUser, Name: name})
	}
	note(t, l, Entry{Kind: "of a later version", Name: "unknown"})
	others := note(t, l, Entry{Kind: KindUser, Name: "of others"})
	left, err := l.Clean(t.Context(), others)
	same(t, removed, []string{"share", "user"})
	same(t, names(left), []string{"stubborn", "unknown"})
	same(t, names(l.Remaining()), []string{"stubborn", "unknown", "of others"})
	if err := l.Strike(others); err != nil {
		t.Fatal(err)
	}
	same(t, l.Remaining(), left)
	var reason NotOurs
	if !errors.As(err, &reason) || !strings.Contains(err.Error(), "user stubborn: ") ||
		!strings.Contains(err.Error(), "unknown: ") {
		t.Errorf("the reasons are %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err = l.Clean(ctx)
	same(t, len(left), 2)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A maker notes a thing before it makes it, and strikes it out when the test is over.
func TestProvisionWritesTheLedger(t *testing.T) {
	l := newLedger(t, nil)
	t.Setenv(LedgerVariable, l.path)
	parent := t.TempDir()
	path := filepath.Join(parent, "made", "below")
	t.Run("of one test", func(t *testing.T) {
		if err := MakeDirectory(t, path); err != nil {
			t.Fatal(err)
		}
		same(t, names(l.Remaining()), []string{filepath.Dir(path), path})
		if e := l.Remaining(); e[0].Mark != "" || e[1].Mark == "" {
			t.Errorf("the parent is known as %q, the directory as %q", e[0].Mark, e[1].Mark)
		}
		if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := MakeDirectory(t, path); err != nil { // it exists
			t.Fatal(err)
		}
		same(t, len(l.Remaining()), 2)
		failed := errors.New("failed")
		err := provision(t, Entry{Kind: KindDirectory, Name: filepath.Join(parent, "half")}, func(e *Entry) error {
			same(t, len(l.Remaining()), 3)
			return errors.Join(os.Mkdir(e.Name, 0o700), failed)
		})
		if !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
		same(t, len(l.Remaining()), 2)
	})
	same(t, len(l.Remaining()), 0)
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

func TestOnlyWhatWasMadeIsRemoved(t *testing.T) {
	dir := t.TempDir()
	made := func(name string) (path, is string) {
		t.Helper()
		path = filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		is, err := identity(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, is
	}
	file := func(path string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours, is := made("ours")
	file(filepath.Join(ours, "file"))
	other, _ := made("other")
	file(filepath.Join(other, "file"))
	full, _ := made("full")
	file(filepath.Join(full, "file"))
	empty, _ := made("empty")
	disk := file(filepath.Join(dir, randomName()+diskFileEnding))
	foreign := file(filepath.Join(dir, "production"+diskFileEnding))
	replaced := file(filepath.Join(dir, "file"))
	for _, test := range []struct {
		name  string
		entry Entry
		goes  bool
		left  bool // because something is wrong
	}{
		{"what was made, with its content", Entry{Kind: KindDirectory, Name: ours, Mark: is}, true, false},
		{"another directory of the same name", Entry{Kind: KindDirectory, Name: other, Mark: is}, false, true},
		{"one that others may use now", Entry{Kind: KindDirectory, Name: full}, false, false},
		{"an unused one", Entry{Kind: KindDirectory, Name: empty}, true, false},
		{"a file in its place", Entry{Kind: KindDirectory, Name: replaced, Mark: is}, false, true},
		{"a disk with a random name", Entry{Kind: KindDiskFile, Name: disk}, true, false},
		{"a disk with another name", Entry{Kind: KindDiskFile, Name: foreign}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLedger(t, nil)
			l.removers = removers()
			note(t, l, test.entry)
			left, err := l.Clean(t.Context())
			if (len(left) > 0) != test.left || (err != nil) != test.left {
				t.Errorf("left %v, %v", left, err)
			}
			if _, err := os.Lstat(test.entry.Name); os.IsNotExist(err) != test.goes {
				t.Errorf("it is there: %v", err)
			}
		})
	}
	l := newLedger(t, nil)
	l.removers = removers()
	for _, kind := range []Kind{KindDirectory, KindDiskFile} { // what was never made, or is gone
		note(t, l, Entry{Kind: kind, Name: filepath.Join(dir, randomName()+diskFileEnding)})
	}
	if left, err := l.Clean(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A link in a directory that was made is removed, and never followed.
func TestLinksAreNotFollowed(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "made")
	if err := os.WriteFile(filepath.Join(target, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(path, "link")); err != nil {
		t.Skip("require symlinks that exist once they are made")
	}
	is, err := identity(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := removeDirectory(t.Context(), Entry{Kind: KindDirectory, Name: path, Mark: is}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(target, "file")); err != nil {
		t.Errorf("the link was followed: %v", err)
	}
}

// A directory that the ledger makes goes with what others put there, its parent only when it is empty, and one that
// existed stays.
func TestDirectoriesOfTheLedger(t *testing.T) {
	base := t.TempDir()
	l, err := OpenLedger(filepath.Join(base, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Join(base, "csi-proxy")
	path := filepath.Join(parent, "shares")
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	for _, theirs := range []bool{false, true} {
		if err := l.MakeDirectory(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "record"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if theirs {
			if err := os.WriteFile(filepath.Join(parent, "theirs"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := l.Clean(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("left %v, %v", left, err)
		}
		if exists(path) || exists(parent) != theirs {
			t.Errorf("the directory is there: %t, its parent: %t", exists(path), exists(parent))
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.MakeDirectory(path); err != nil || len(l.Remaining()) != 0 {
		t.Errorf("a directory of others is noted: %v, %v", l.Remaining(), err)
	}
}

func TestRandomNames(t *testing.T) {
	name := randomName()
	if len(name) > 20 || !isRandom(name, "") || !isRandom(name+diskFileEnding, diskFileEnding) {
		t.Errorf("%q is not a random name", name)
	}
	for _, name := range []string{"", "csiprove-", "csiprove-000000000", "csiprove-00000000000", "csiprove-000000000G",
		"Administrator", "x" + name, name + "x", strings.ToUpper(name)} {
		if isRandom(name, "") {
			t.Errorf("%q is a random name", name)
		}
	}
}

func TestAnOversizedFileIsNotALedger(t *testing.T) {
	l := newLedger(t, nil)
	if err := os.Truncate(l.path, maxLedger+1); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(l.path); err == nil {
		t.Error("it was read")
	}
	if _, err := l.Clean(t.Context()); err == nil {
		t.Error("it was read")
	}
}

// FuzzLedger: whatever a file holds, parsing ends, no struck entry remains, and what is noted and struck after it is
// understood.
func FuzzLedger(f *testing.F) {
	line := func(r record) []byte {
		text, err := r.line()
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	e := Entry{ID: "1", Kind: KindUser, Name: "name"}
	f.Add(line(record{Made: &e}))
	f.Add(slices.Concat(line(record{Made: &e}), line(record{Struck: "1"})))
	f.Add(line(record{Made: &e})[:20])
	f.Add([]byte("\n\x00\x00{}\n{\"made\":{\"id\":\"\"},\"struck\":\"\"}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		before := parseLedger(content)
		ids := map[string]bool{}
		for _, e := range before {
			if e.ID == "" || ids[e.ID] {
				t.Fatalf("two entries have the ID %q", e.ID)
			}
			ids[e.ID] = true
		}
		const id = "an ID that is in no input"
		if bytes.Contains(content, []byte(id)) {
			return
		}
		noted := slices.Concat(content, line(record{Made: &Entry{ID: id, Kind: KindShare, Name: "new"}}))
		if got := parseLedger(noted); len(got) != len(before)+1 || got[len(got)-1].Name != "new" {
			t.Fatalf("%d entries, then %d", len(before), len(got))
		}
		if got := parseLedger(slices.Concat(noted, line(record{Struck: id}))); len(got) != len(before) {
			t.Fatalf("%d entries, then %d", len(before), len(got))
		}
	})
}
