// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEveryChangeSurvivesAPowerLoss: the host loses its power before one of the steps of a change, or right after the last
// one, and with it whatever was not made durable. A change whose success was reported is never lost.
func TestEveryChangeSurvivesAPowerLoss(t *testing.T) {
	every := 2 * stride() // of what the other tests of this kind try, half
	for i, c := range crashCases() {
		t.Run(c.name, func(t *testing.T) {
			for steps, done := i%every, false; !done; steps += every {
				dir := t.TempDir()
				n := openNode(t, dir, Options{Scenario: smallScenario()})
				c.prepare(t, n)
				must(t, n.Close())
				host := newHostDisk(t, dir)
				n = openNode(t, dir, Options{before: host.before})
				host.left = steps
				err := c.change(n)
				if done = host.left >= 0; done {
					must(t, err)
					host.settle()
				}
				for what, after := range map[string]string{
					"what was not made durable": host.withoutNames(), "the content of files that was not made durable": host.withNames(),
				} {
					restarted := openNode(t, after, Options{})
					if got := c.check(t, restarted); done && got != "new" {
						t.Errorf("after the whole change: %s", got)
					}
					must(t, restarted.Close())
					if t.Failed() {
						t.Fatalf("lost after %d steps: %s", steps, what)
					}
				}
				must(t, n.Close())
			}
		})
	}
}

// TestTheSystemIsAsked: where the system cannot make something durable, a change fails. Short of a power loss, nothing else shows
// whether the system was asked.
func TestTheSystemIsAsked(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	if err := new(host).sync(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a pipe: %v, want EINVAL, as of fsync(2)", err)
	}
	processes, err := os.OpenRoot("/proc")
	must(t, err)
	defer processes.Close()
	if err := new(host).syncRoot(processes); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the directory of the processes: %v, want EINVAL", err)
	}
}

// hostDisk is what the host's disk holds for certain of a state directory, while a node changes it: the contents of files
// and the names in directories, each as of when it was last made durable.
type hostDisk struct {
	t     *testing.T
	dir   string
	left  int // how many more steps are made
	store string
	names map[inode]map[string]inode // of directories

	step, path string // under way
}

type inode uint64

func newHostDisk(t *testing.T, dir string) *hostDisk {
	t.Helper()
	d := &hostDisk{t: t, dir: dir, left: 1 << 30, store: t.TempDir(), names: map[inode]map[string]inode{}}
	must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			d.saveNames(path)
		} else {
			d.saveContent(path)
		}
		return nil
	}))
	return d
}

// before is called before each step, when the step before it has been made.
func (d *hostDisk) before(step, path string) error {
	if d.left--; d.left < 0 {
		if d.left == -1 {
			d.settle()
		}
		return errDied
	}
	d.settle()
	d.step, d.path = step, path
	return nil
}

// settle notes what the last step made durable.
func (d *hostDisk) settle() {
	switch d.step {
	case "create":
		must(d.t, os.RemoveAll(d.contentOf(d.inode(d.path)))) // of a file that had the number before
	case "mkdir":
		d.names[d.inode(d.path)] = map[string]inode{}
	case "sync":
		d.saveContent(d.path)
	case "syncdir":
		d.saveNames(d.path)
	}
	d.step = ""
}

func (d *hostDisk) inode(path string) inode {
	d.t.Helper()
	info, err := os.Lstat(path)
	must(d.t, err)
	return inodeOf(info)
}

func inodeOf(info os.FileInfo) inode {
	stat, _ := info.Sys().(*syscall.Stat_t)
	return inode(stat.Ino)
}

func (d *hostDisk) contentOf(i inode) string {
	return filepath.Join(d.store, strconv.FormatUint(uint64(i), 10))
}

func (d *hostDisk) saveContent(path string) { copySparse(d.t, path, d.contentOf(d.inode(path))) }

// saveNames notes the names in a directory. What was moved here is gone from where it was: a host's file system never
// keeps half of a rename.
func (d *hostDisk) saveNames(path string) {
	d.t.Helper()
	entries, err := os.ReadDir(path)
	must(d.t, err)
	now := map[string]inode{}
	for _, entry := range entries {
		info, err := entry.Info()
		must(d.t, err)
		now[entry.Name()] = inodeOf(info)
	}
	for _, elsewhere := range d.names {
		maps.DeleteFunc(elsewhere, func(_ string, old inode) bool {
			for _, moved := range now {
				if moved == old {
					return true
				}
			}
			return false
		})
	}
	d.names[d.inode(path)] = now
}

// withoutNames returns a state directory with what is durable and nothing else.
func (d *hostDisk) withoutNames() string {
	d.t.Helper()
	after := d.t.TempDir()
	d.restore(d.inode(d.dir), after)
	return after
}

func (d *hostDisk) restore(directory inode, to string) {
	d.t.Helper()
	for name, i := range d.names[directory] {
		path := filepath.Join(to, name)
		if _, isDirectory := d.names[i]; isDirectory {
			must(d.t, os.MkdirAll(path, 0o755))
			d.restore(i, path)
		} else {
			d.restoreContent(i, path)
		}
	}
}

// withNames returns a state directory with all names, and of the content of files what is durable.
func (d *hostDisk) withNames() string {
	d.t.Helper()
	after := d.t.TempDir()
	must(d.t, filepath.WalkDir(d.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.dir, path)
		must(d.t, err)
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(after, name), 0o755)
		}
		d.restoreContent(d.inode(path), filepath.Join(after, name))
		return nil
	}))
	return after
}

// restoreContent makes a file with its durable content: none, if that was never asked for.
func (d *hostDisk) restoreContent(i inode, path string) {
	d.t.Helper()
	if _, err := os.Lstat(d.contentOf(i)); errors.Is(err, os.ErrNotExist) {
		must(d.t, os.WriteFile(path, nil, 0o600))
		return
	}
	copySparse(d.t, d.contentOf(i), path)
}

// copySparse copies a file without its zeros.
func copySparse(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	info, err := in.Stat()
	must(t, err)
	out, err := os.Create(to)
	must(t, err)
	defer out.Close()
	must(t, out.Truncate(info.Size()))
	buffer, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		start, err := in.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, syscall.ENXIO) {
			return // only a hole follows
		}
		must(t, err)
		at, err = in.Seek(start, unix.SEEK_HOLE)
		must(t, err)
		for ; start < at; start += int64(len(buffer)) {
			part := buffer[:min(int64(len(buffer)), at-start)]
			_, err := in.ReadAt(part, start)
			must(t, err)
			if !bytes.Equal(part, zeros[:len(part)]) {
				_, err = out.WriteAt(part, start)
				must(t, err)
			}
		}
	}
}
