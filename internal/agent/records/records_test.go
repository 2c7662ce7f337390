// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
)

const share = `\\fs\share`

// TestRecords: what was put is there until it is removed, in every spelling that Windows takes for the same.
func TestRecords(t *testing.T) {
	d := records.New(filepath.Join(t.TempDir(), "records"))
	want := records.Record{Remote: share + `\dir`, Target: `C:\k\Über`}
	if all, err := d.All(records.Use); err != nil || all != nil {
		t.Errorf("before the first: %v, %v", all, err)
	}
	check(t, d.Put(records.Use, want))
	check(t, d.Put(records.Use, want))
	got, err := d.Get(records.Use, `c:\K\üBER`)
	check(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, other := range []string{"C:\\\u212a\\Über", `C:\k\Uber`} { // the Kelvin sign is no k
		if _, err := d.Get(records.Use, other); !errors.Is(err, records.ErrNone) {
			t.Errorf("%s: got %v, want %v", other, err, records.ErrNone)
		}
	}
	all, err := d.All(records.Use)
	check(t, err)
	if diff := cmp.Diff([]records.Record{want}, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check(t, d.Put(records.Unstaging, records.Record{Volume: "v", Target: want.Target}))
	if got, err := d.Get(records.Unstaging, want.Target); got.Volume != "v" || err != nil {
		t.Errorf("the volume that is unstaged is %q, %v", got.Volume, err)
	}
	for range 2 {
		check(t, d.Remove(records.Use, want.Target))
		check(t, d.Remove(records.Unstaging, want.Target))
	}
	if _, err := d.Get(records.Unstaging, want.Target); !errors.Is(err, records.ErrNone) {
		t.Errorf("after the removal: %v", err)
	}
}

// TestPlanted: whatever is in the place of a record or a lock, reading ends, and nothing is made elsewhere.
func TestPlanted(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for what, plant := range planted(outside) {
		dir := t.TempDir()
		d := records.New(dir)
		target := `C:\k\target`
		check(t, d.Put(records.Use, records.Record{Remote: share, Target: target}))
		check(t, d.Put(records.Unstaging, records.Record{Volume: "v", Target: target}))
		check(t, d.Put(records.Mapping, records.Record{Share: share, Made: records.Made}))
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		check(t, err)
		files = append(files, strings.TrimSuffix(fileOf(t, dir, ".share"), ".share")+".lock")
		if len(files) != 4 {
			t.Fatalf("the records are %q", files)
		}
		for _, file := range files {
			if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
				check(t, err)
			}
			check(t, plant(file))
			check(t, plant(file+".new")) // where the next record is written
		}
		_, errUse := d.Get(records.Use, target)
		_, errAll := d.All(records.Use)
		_, errUnstaging := d.Get(records.Unstaging, target)
		known, errShare := d.Get(records.Mapping, share)
		unlock, errLock := d.Lock(t.Context(), share)
		if errLock == nil {
			unlock()
		}
		if known.Known() {
			t.Errorf("%s in the place of a share's record says %+v", what, known)
		}
		for of, err := range map[string]error{
			"a use": errUse, "all uses": errAll, "an unstaging": errUnstaging, "a share": errShare, "a lock": errLock,
		} {
			if err == nil && !(of == "a lock" && what == "an endless file") || errors.Is(err, records.ErrNone) {
				t.Errorf("%s in the place of %s: %v", what, of, err)
			}
		}
		if what != "a directory" {
			check(t, d.Put(records.Use, records.Record{Remote: share, Target: target})) // replaces it
		}
		if _, err := os.Lstat(outside); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was made elsewhere", what)
		}
	}
}

// TestNoRoom: a record that cannot be written leaves the one that was there.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	d := records.New(dir)
	want := records.Record{Remote: share, Target: `C:\k`}
	check(t, d.Put(records.Use, want))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	check(t, err)
	check(t, os.MkdirAll(filepath.Join(files[0]+".new", "in the way"), 0o700))
	if err := d.Put(records.Use, records.Record{Remote: share + `2`, Target: want.Target}); err == nil {
		t.Error("a record was written where a directory is")
	}
	if got, err := d.Get(records.Use, want.Target); got != want || err != nil {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestShareNotRecorded: of a share whose record cannot be replaced nothing is known: an old record might say that the
// mapping is the steps' alone. Neither is anything known of a share that has another one's record.
func TestShareNotRecorded(t *testing.T) {
	dir := t.TempDir()
	d := records.New(dir)
	made := records.Record{Share: share, Made: records.Made}
	check(t, d.Put(records.Mapping, made))
	file := fileOf(t, dir, ".share")
	check(t, os.MkdirAll(filepath.Join(file+".new", "in the way"), 0o700))
	made.Asked = true
	if err := d.Put(records.Mapping, made); err == nil {
		t.Error("a record was written where a directory is")
	}
	if known, err := d.Get(records.Mapping, share); !errors.Is(err, records.ErrNone) {
		t.Errorf("after the failure: %+v, %v", known, err)
	}
	check(t, os.RemoveAll(file+".new"))
	check(t, d.Put(records.Mapping, records.Record{Share: share + "2", Made: records.Made}))
	check(t, os.Rename(fileOf(t, dir, ".share"), file))
	if known, err := d.Get(records.Mapping, share); known.Known() || err == nil {
		t.Errorf("with another share's record: %+v, %v", known, err)
	}
	if all, err := d.All(records.Mapping); len(all) > 0 || err != nil {
		t.Errorf("all shares: %+v, %v", all, err)
	}
}

// TestLock: one caller at a time has the lock of a share, of this process and of all, and a waiting one gives up.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	for _, second := range []*records.Dir{nil, records.New(dir)} {
		first := records.New(dir)
		if second == nil {
			second = first
		}
		unlock, err := first.Lock(t.Context(), share)
		check(t, err)
		other, err := second.Lock(t.Context(), share+"2")
		check(t, err)
		other()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := second.Lock(ctx, strings.ToUpper(share)); !errors.Is(err, context.Canceled) {
			t.Errorf("a second caller: %v", err)
		}
		unlock()
		unlock, err = second.Lock(t.Context(), share)
		check(t, err)
		unlock()
	}
}

// TestLockFiles: a lock's file lives while the lock is held, also by callers that waited for it, one at a time.
func TestLockFiles(t *testing.T) {
	dir := t.TempDir()
	var held, most atomic.Int32
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 20 {
				unlock, err := records.New(dir).Lock(t.Context(), share)
				if err != nil {
					t.Error(err)
					return
				}
				if now := held.Add(1); now > 1 {
					most.Store(now)
				}
				held.Add(-1)
				unlock()
			}
		})
	}
	callers.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || most.Load() > 0 {
		t.Errorf("left are %v, %v; %d held the lock together", left, err, most.Load())
	}
}

// fileOf returns the one file of a kind in a directory.
func fileOf(t *testing.T, dir, suffix string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files *%s are %q, %v", suffix, files, err)
	}
	return files[0]
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
