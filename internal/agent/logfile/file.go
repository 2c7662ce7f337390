// SPDX-License-Identifier: Apache-2.0

// Package logfile writes a log to a file that is replaced when it grows large or old, and keeps some of the old files.
//
// A log must never stop the program that writes it: a full disk, a missing directory or a file that another process
// holds open costs lines at worst. They are counted, and the log itself says how many are missing.
//
// klog itself empties its full file, replaces none by age, and ends the process when it cannot open one. lumberjack
// replaces by size only, and loses every line after a rename that a collector's open file prevents on Windows. A period
// counts from midnight UTC, not from a file's creation: Windows gives a new file that of its namesake of seconds ago.
package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// renameRetryInterval is the time between attempts to rename a full file, which Windows refuses while a reader has it.
const renameRetryInterval = time.Minute

// Options say when a log file is replaced and which old ones are kept. The zero value never replaces it.
type Options struct {
	// MaxBytes is the maximal size of the file, unless a single line exceeds it; 0: no limit.
	MaxBytes int64
	// Every is the period for which one file is written, counted from midnight UTC, not from the start; 0: forever.
	Every time.Duration
	// Backups is how many old files are kept; 0: all.
	Backups int
	// BackupBytes is the total size of the old files that are kept, but the newest is always kept; 0: no limit.
	BackupBytes int64
	// Header returns the text with which a file begins, and which marks each opening of an existing one; it may be nil.
	Header func(time.Time) string
	// Lost returns the line about lines that could not be written; nil: a plain sentence.
	Lost func(lines int, cause error) string
}

// A File is a log file that replaces itself. Several goroutines may use it; each Write ends up whole, in one file.
type File struct {
	path    string
	options Options

	mu     sync.Mutex
	file   *os.File // nil after Close, and while the file cannot be opened
	closed bool
	size   int64
	used   bool      // it holds more than our header
	torn   bool      // it ends in the middle of a line
	period int64     // of the file's lines
	after  time.Time // no replacement before this time
	newest time.Time // in the names of the old files
	lost   int       // writes that failed since the last one that did not
	cause  error     // of the first of them
}

// Open opens a log file for appending, or makes it in its directory. It refuses links and all but regular files.
func Open(path string, options Options) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	f := &File{path: path, options: options}
	if err := f.open(time.Now()); err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	f.prune()
	return f, nil
}

// Write appends lines in one piece. When it fails, it counts one as lost, and the next Write opens the file again.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	now := time.Now()
	if f.due(now, len(line)) {
		f.replace(now)
	}
	if f.file == nil {
		if err := f.open(now); err != nil {
			return 0, f.lose(err)
		}
	}
	if f.torn || f.lost > 0 {
		if err := f.confess(); err != nil {
			return 0, f.lose(err)
		}
	}
	n, err := f.append(line)
	if err != nil {
		return n, f.lose(err)
	}
	if !f.used {
		f.used, f.period = true, f.periodOf(now)
	}
	return n, nil
}

// due reports whether a new file must begin before more bytes are written.
func (f *File) due(now time.Time, more int) bool {
	if f.file == nil || !f.used || now.Before(f.after) {
		return false
	}
	return f.options.MaxBytes > 0 && f.size+int64(more) > f.options.MaxBytes || f.periodOf(now) != f.period
}

// periodOf numbers the periods of Options.Every.
func (f *File) periodOf(t time.Time) int64 {
	if f.options.Every <= 0 {
		return 0
	}
	return t.Truncate(f.options.Every).UnixNano()
}

// open opens the file, or makes it.
func (f *File) open(now time.Time) error {
	file, info, err := openOwn(f.path)
	if err != nil {
		return err
	}
	f.file = file
	f.size, f.used, f.torn, f.period = 0, false, false, f.periodOf(now)
	if info.Size() > 0 {
		f.size, f.used, f.period = info.Size(), true, f.periodOf(info.ModTime())
		f.torn = !endsWithNewline(file, info.Size())
	}
	if f.options.Header == nil || f.due(now, 0) {
		return nil // a file that is replaced at once needs no mark
	}
	if f.torn {
		if err := f.confess(); err != nil {
			return errors.Join(err, f.shut())
		}
	}
	if _, err := f.append([]byte(f.options.Header(now))); err != nil {
		return errors.Join(err, f.shut())
	}
	return nil
}

// endsWithNewline reports whether a file's last line is whole. If that cannot be read, it is taken to be.
func endsWithNewline(file *os.File, size int64) bool {
	last := make([]byte, 1)
	_, err := file.ReadAt(last, size-1)
	return err != nil || last[0] == '\n'
}

// append writes to the end of the file.
func (f *File) append(text []byte) (int, error) {
	n, err := f.file.Write(text)
	f.size += int64(n)
	if n > 0 {
		f.torn = text[n-1] != '\n'
	}
	return n, err
}

// confess ends a torn line and says how many lines were lost.
func (f *File) confess() error {
	text := ""
	if f.torn {
		text = "\n"
	}
	if f.lost > 0 {
		lost := f.options.Lost
		if lost == nil {
			lost = func(lines int, cause error) string {
				return fmt.Sprintf("log file: %d lines before this one are lost: %v\n", lines, cause)
			}
		}
		text += lost(f.lost, f.cause)
	}
	if _, err := f.append([]byte(text)); err != nil {
		return err
	}
	f.used = true
	f.lost, f.cause = 0, nil
	return nil
}

// lose counts a line that was not written and closes the file, so that the next line opens it again.
func (f *File) lose(err error) error {
	if f.lost == 0 {
		f.cause = err
	}
	f.lost++
	_ = f.shut()
	return err
}

// shut closes the file for now.
func (f *File) shut() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// Close flushes the file to the disk and closes it. Later writes fail, later calls of Close do nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.file == nil {
		return nil
	}
	return errors.Join(f.file.Sync(), f.shut())
}
