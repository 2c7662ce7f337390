// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// open opens a log in a new directory.
func open(t *testing.T, options Options) *File {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "agent.log"), options)
}

func openAt(t *testing.T, path string, options Options) *File {
	t.Helper()
	f, err := Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func write(t *testing.T, f *File, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := f.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns the contents of the log's files, the old ones by age and then the current one.
func contents(t *testing.T, f *File) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(f.path), entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(content))
	}
	return files
}

func wantContents(t *testing.T, f *File, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, contents(t, f)); diff != "" {
		t.Error(diff)
	}
}

// wantLost checks that a log begins with what was before, and ends with a count of lost lines and the last line.
func wantLost(t *testing.T, f *File, before string, lost int, last string) {
	t.Helper()
	content := strings.Join(contents(t, f), "")
	if !strings.HasPrefix(content, fmt.Sprintf("%slog file: %d lines before this one are lost: ", before, lost)) ||
		!strings.HasSuffix(content, "\n"+last+"\n") {
		t.Errorf("got %q", content)
	}
}

func TestASizeBeginsANewFile(t *testing.T) {
	f := open(t, Options{MaxBytes: 10})
	write(t, f, "one", "two", "three", "a line longer than a file", "four")
	wantContents(t, f, "one\ntwo\n", "three\n", "a line longer than a file\n", "four\n")
}

func TestAPeriodBeginsANewFile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { // whose clock begins at midnight
		f := openAt(t, filepath.Join(dir, "agent.log"), Options{Every: 24 * time.Hour})
		time.Sleep(30 * time.Hour)
		write(t, f, "the second day")
		time.Sleep(17 * time.Hour)
		write(t, f, "its last hour")
		time.Sleep(2 * time.Hour)
		write(t, f, "the third day")
		wantContents(t, f, "the second day\nits last hour\n", "the third day\n")
	})
}

func TestRestartAppendsToTodaysFileAndReplacesOlder(t *testing.T) {
	for _, test := range []struct {
		name    string
		written time.Duration // after the beginning of the day before
		want    []string
	}{
		{"today", 25 * time.Hour, []string{"opened\nbefore\nopened\nafter\n"}},
		{"yesterday, an hour ago", 23 * time.Hour, []string{"opened\nbefore\n", "opened\nafter\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agent.log")
			synctest.Test(t, func(t *testing.T) {
				midnight := time.Now()
				options := Options{Every: 24 * time.Hour, Header: func(time.Time) string { return "opened\n" }}
				f := openAt(t, path, options)
				write(t, f, "before")
				_ = f.Close()
				written := midnight.Add(test.written)
				if err := os.Chtimes(path, written, written); err != nil {
					t.Fatal(err)
				}
				time.Sleep(26 * time.Hour)
				f = openAt(t, path, options)
				write(t, f, "after")
				wantContents(t, f, test.want...)
			})
		})
	}
}

func TestOldFilesAreRemoved(t *testing.T) {
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"by number", Options{Backups: 2}, []string{"line 2\n", "line 3\n", "line 4\n"}},
		{"by size together", Options{BackupBytes: 15}, []string{"line 2\n", "line 3\n", "line 4\n"}},
		{"but not the newest", Options{BackupBytes: 1}, []string{"line 3\n", "line 4\n"}},
		{"all are kept", Options{}, []string{"line 0\n", "line 1\n", "line 2\n", "line 3\n", "line 4\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.MaxBytes = 1
			f := open(t, test.options)
			for i := range 5 {
				write(t, f, fmt.Sprintf("line %d", i))
			}
			wantContents(t, f, test.want...)
		})
	}
}

// Old files of an earlier start, which kept more.
func TestOldFilesAreRemovedAtOpen(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		name := fmt.Sprintf("agent-2026010%dT150405.000.log", i+1)
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "the log %d\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := openAt(t, filepath.Join(dir, "agent.log"), Options{BackupBytes: 25})
	wantContents(t, f, "the log 2\n", "the log 3\n", "")
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	others := []string{"agent-2.log", "agent-20260102T150405.000.log.gz", "agent-20261302T150405.000.log",
		"agent-20260102T150405,000.log", "other-20260102T150405.000.log"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "agent-20260102T150405.000.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := openAt(t, filepath.Join(dir, "agent.log"), Options{MaxBytes: 1, Backups: 1})
	write(t, f, "one", "two", "three")
	for _, name := range append(others, "agent-20260102T150405.000.log") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// Every line is there once, whole and in its writer's order, however many write while files are replaced.
func TestNoLineIsLostAtAReplacement(t *testing.T) {
	const writers, lines = 8, 500
	f := open(t, Options{MaxBytes: 1000})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range lines {
				if _, err := fmt.Fprintf(f, "writer %d line %d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	next := make([]int, writers)
	for line := range strings.Lines(strings.Join(contents(t, f), "")) {
		var w, i int
		if _, err := fmt.Sscanf(line, "writer %d line %d\n", &w, &i); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if i != next[w] {
			t.Fatalf("writer %d: got line %d, want %d", w, i, next[w])
		}
		next[w]++
	}
	if diff := cmp.Diff(slices.Repeat([]int{lines}, writers), next); diff != "" {
		t.Error(diff)
	}
}

func TestATornLineIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	if err := os.WriteFile(path, []byte("killed in the mid"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openAt(t, path, Options{})
	write(t, f, "after")
	wantContents(t, f, "killed in the mid\nafter\n")
}

func TestLostLinesAreCountedInTheLog(t *testing.T) {
	f := open(t, Options{})
	write(t, f, "one")
	_ = f.file.Close() // like a failing disk: the next write fails
	if _, err := f.Write([]byte("two\n")); err == nil {
		t.Fatal("a write into a closed file succeeded")
	}
	write(t, f, "three")
	wantLost(t, f, "one\n", 1, "three")
}

func TestWritingResumesWhenDirectoryReturns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f := openAt(t, filepath.Join(dir, "agent.log"), Options{MaxBytes: 1})
	write(t, f, "one")
	if runtime.GOOS == "windows" {
		_ = f.shut() // the open file would protect its directory there
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.Write([]byte("lost\n")); err == nil {
			t.Fatal("a write without a directory succeeded")
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, f, "two")
	wantLost(t, f, "", 3, "two")
}

func TestAFileThatCannotBeRenamedIsWrittenOn(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := openAt(t, filepath.Join(dir, "agent.log"), Options{MaxBytes: 5})
		write(t, f, "one")
		release := holdName(t, f.path)
		write(t, f, "two", "three")
		release()
		write(t, f, "four")
		wantContents(t, f, "one\ntwo\nthree\nfour\n") // while the name was held, and the minute after
		time.Sleep(renameRetryInterval)
		write(t, f, "five")
		wantContents(t, f, "one\ntwo\nthree\nfour\n", "five\n")
	})
}

func TestOpenErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "agent.log")
	if _, err := Open(path, Options{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestAClosedFileRefuses(t *testing.T) {
	f := open(t, Options{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("late\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func FuzzBackupTime(f *testing.F) {
	f.Add("agent.log", "agent-20260102T150405.000.log")
	f.Add("agent", "agent-20260102T150405.000")
	f.Add(".log", "-20260102T150405.000.log")
	f.Fuzz(func(t *testing.T, name, other string) {
		if _, ok := backupTime(name, other); ok && (name == other || len(other) != len(name)+1+len(stamp)) {
			t.Errorf("%q is taken for an old %q", other, name)
		}
		now := time.Unix(1, 5e6).UTC()
		if got, ok := backupTime(name, backupName(name, now)); !ok || !got.Equal(now) {
			t.Errorf("%q: got %v %v, want an old %q of %v", backupName(name, now), got, ok, name, now)
		}
	})
}
