// SPDX-License-Identifier: Apache-2.0

//go:build unix

package records_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
)

// planted are ways to put something in the place of a file; outside is a path that is not there.
func planted(outside string) map[string]func(file string) error {
	return map[string]func(string) error{
		"a pipe":      func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a link":      func(file string) error { return os.Symlink(outside, file) },
		"a device":    func(file string) error { return os.Symlink("/dev/zero", file) },
		"a directory": func(file string) error { return os.MkdirAll(file+"/in the way", 0o700) },
		"an endless file": func(file string) error {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(file, 1<<40)
		},
	}
}

// TestBehindALink: what a link in the place of the directory leads to is neither read nor changed.
func TestBehindALink(t *testing.T) {
	elsewhere, dir := t.TempDir(), filepath.Join(t.TempDir(), "records")
	there, d := records.New(elsewhere), records.New(dir)
	use := records.Record{Remote: share, Target: `C:\k`}
	check(t, there.Put(records.Use, use))
	check(t, there.Put(records.Mapping, records.Record{Share: share, Made: records.Made}))
	check(t, os.Symlink(elsewhere, dir))
	got, errGet := d.Get(records.Use, use.Target)
	known, errShare := d.Get(records.Mapping, share)
	all, errUses := d.All(records.Use)
	_, errShares := d.All(records.Mapping)
	for of, err := range map[string]error{
		"a use": errGet, "all uses": errUses, "a share": errShare, "all shares": errShares, "a new use": d.Put(records.Use, use),
		"a removal": d.Remove(records.Use, use.Target), "a forgotten share": d.Put(records.Mapping, records.Record{Share: share}),
	} {
		if err == nil || errors.Is(err, records.ErrNone) {
			t.Errorf("%s behind a link: %v", of, err)
		}
	}
	if got.Remote != "" || known.Known() || len(all) > 0 {
		t.Errorf("read behind the link: %+v, %+v, %+v", got, known, all)
	}
	if got, err := there.Get(records.Use, use.Target); got != use || err != nil {
		t.Errorf("the record elsewhere is %+v, %v", got, err)
	}
}
