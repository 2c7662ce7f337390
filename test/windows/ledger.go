// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// LedgerVariable names the environment variable with the file of the ledger that makers use. Without it they note
// nothing, and what they made stays on a machine if their process is killed.
const LedgerVariable = "CSI_PROXY_PROVE_LEDGER"

// A Ledger is a file that names all that was made on a machine and not yet taken away. An entry is on the disk before
// its thing is made, and it is struck out after the thing is gone: however a process ends, nothing that it made is
// forgotten. Several processes may use one file.
type Ledger struct {
	path     string // "": nothing is noted
	removers map[Kind]remover
}

// A remover takes away what an entry names, once it has seen that it is what was made. A thing that is gone is success.
type remover func(ctx context.Context, e Entry) error

// OpenLedger opens a file of entries, or makes it.
func OpenLedger(path string) (*Ledger, error) {
	path, err := filepath.Abs(path) // for processes that work elsewhere
	if err != nil {
		return nil, err
	}
	l := &Ledger{path, removers()}
	if err := l.add(nil); err != nil {
		return nil, err
	}
	_, err = l.load()
	return l, err
}

// inherited returns the ledger that the environment names.
func inherited() (*Ledger, error) {
	if path := os.Getenv(LedgerVariable); path != "" {
		return OpenLedger(path)
	}
	return &Ledger{removers: removers()}, nil
}

// Note writes an entry, which must be done before its thing is made, and returns it with its ID and time. An entry that
// has an ID is written again, with what is known now; the later one holds.
func (l *Ledger) Note(e Entry) (Entry, error) {
	if e.ID == "" {
		e.ID, e.Noted = random(16), time.Now().UTC()
	}
	return e, l.write(record{Made: &e})
}

// Strike strikes an entry out.
func (l *Ledger) Strike(e Entry) error { return l.write(record{Struck: e.ID}) }

// Remaining returns the entries whose things may still be there, in the order in which they were noted.
func (l *Ledger) Remaining() []Entry {
	entries, _ := l.load() // a file that cannot be read any more is Clean's error
	return entries
}

// Clean takes away what the entries name, the last first, and strikes it out. It leaves alone what is not the thing
// that was made, and returns what is left, with the reasons. The entries of keep stay as they are: others made those
// things.
func (l *Ledger) Clean(ctx context.Context, keep ...Entry) (left []Entry, err error) {
	entries, err := l.load()
	if err != nil {
		return nil, err
	}
	entries = subtract(entries, keep)
	var failures []error
	for _, e := range slices.Backward(entries) {
		if err := l.remove(ctx, e); err != nil {
			left, failures = append(left, e), append(failures, err)
		}
	}
	slices.Reverse(left)
	return left, errors.Join(failures...)
}

// subtract returns the entries that are not among others.
func subtract(entries, others []Entry) []Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
		return slices.ContainsFunc(others, func(o Entry) bool { return o.ID == e.ID })
	})
}

// remove takes away what one entry names and strikes it out.
func (l *Ledger) remove(ctx context.Context, e Entry) error {
	err := context.Cause(ctx)
	if err == nil {
		if remove := l.removers[e.Kind]; remove == nil {
			err = Unavailable("this program cannot remove it on this system")
		} else {
			err = remove(ctx, e)
		}
	}
	if err != nil {
		return fmt.Errorf("%v: %w", e, err)
	}
	return l.Strike(e)
}

// load reads the file.
func (l *Ledger) load() ([]Entry, error) {
	if l.path == "" {
		return nil, nil
	}
	info, err := os.Stat(l.path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxLedger {
		return nil, fmt.Errorf("%s has %d bytes, which no ledger has", l.path, info.Size())
	}
	content, err := os.ReadFile(l.path)
	if err != nil {
		return nil, err
	}
	return parseLedger(content), nil
}

// write appends a record.
func (l *Ledger) write(r record) error {
	if l.path == "" {
		return nil
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	return l.add(line)
}

// add appends bytes to the file, where no other process writes meanwhile, and waits until they are on the disk.
func (l *Ledger) add(content []byte) error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err = lockAppends(f); err == nil { // until it is closed
		_, err = f.Write(content)
		err = errors.Join(err, f.Sync())
	}
	return errors.Join(err, f.Close())
}
