// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// presence is what the recorded calls say of a file, if nobody else changes it.
type presence int

const (
	unseen presence = iota
	present
	absent
	unclear // it is being deleted
)

// files is the files on drive C and on volumes. It knows what the recorded calls did to files. What they did not do,
// somebody else did: a test, a workload. That is done to the node's files before the call that shows it.
type files struct {
	*evidence
	handles  *paths
	node     *emulated.Node
	names    *names
	seen     map[string]presence // by path, as paths has it
	deleting map[uint64]bool     // handles that have deleted their file
}

func newFiles(calls []recording.Call, node *emulated.Node, n *names) *files {
	return &files{
		evidence: newEvidence(calls), handles: newPaths(), node: node, names: n, seen: map[string]presence{},
		deleting: map[uint64]bool{},
	}
}

// before puts files into the situation of a call.
func (f *files) before(i int, c *recording.Call) error {
	path := f.handles.of(c)
	if path == "" {
		return nil
	}
	switch {
	case isOfDirectories(c.Function):
		if k := f.of(path, i); k.known && f.seen[path] != present && f.seen[path] != unclear {
			return f.create(i, path)
		}
		if c.Succeeded() || win32.Errno(c.Win32) == win32.ERROR_FILE_NOT_FOUND {
			return f.parents(i, path)
		}
	case c.Function == "OpenFile":
		return f.beforeOpen(i, c, path)
	case c.Function == "Information":
		if l := f.listings[i]; l != nil {
			return f.beforeListing(i, path, l)
		}
		if c.Code == win32.FileStandardInfo && c.Succeeded() {
			if s, err := win32.ParseFileStandard(room(c, 24)); err == nil && !s.Directory && !s.DeletePending {
				return f.resize(path, s.EndOfFile)
			}
		}
	}
	return nil
}

func (f *files) beforeOpen(i int, c *recording.Call, path string) error {
	known := f.seen[path]
	switch code := win32.Errno(c.Win32); {
	case code == win32.ERROR_FILE_NOT_FOUND:
		if known == present {
			return f.remove(path)
		}
		return f.parents(i, path)
	case !c.Succeeded() && !slices.Contains(showsFile(), code):
		return nil
	case c.Succeeded() && c.How.Disposition == win32.FILE_CREATE:
		if known == present {
			if err := f.remove(path); err != nil {
				return err
			}
		}
		return f.parents(i, path)
	case c.Succeeded() && c.How.Disposition == win32.FILE_OPEN_IF && known != present:
		return f.parents(i, path)
	case known == unseen || known == absent:
		return f.create(i, path)
	}
	return nil
}

// showsFile returns the codes with which an open fails only if there is a file.
func showsFile() []win32.Errno {
	return []win32.Errno{
		win32.ERROR_ALREADY_EXISTS, win32.ERROR_DIRECTORY, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION,
		win32.ERROR_DELETE_PENDING,
	}
}

// beforeListing makes a directory hold what its listing shows.
func (f *files) beforeListing(i int, path string, l *listed) error {
	shown := map[string]bool{}
	for _, entry := range l.entries {
		child := path + `\` + strings.ToLower(entry.Name)
		shown[child] = true
		if known := f.seen[child]; known == unseen || known == absent {
			if err := f.create(i, child); err != nil {
				return err
			}
			f.seen[child] = present
		}
		if k := f.of(child, i); !k.directory {
			if err := f.resize(child, entry.EndOfFile); err != nil {
				return err
			}
		}
	}
	if !l.complete {
		return nil
	}
	host, err := f.node.HostPath(f.windows(path))
	if err != nil {
		return nil //nolint:nilerr // it is not there, and the call will say so
	}
	entries, err := os.ReadDir(host)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	for _, entry := range entries {
		child := path + `\` + strings.ToLower(entry.Name())
		if known := f.seen[child]; !shown[child] && (known == present || known == unseen) &&
			!strings.HasPrefix(entry.Name(), ".csi-proxy-reparse") {
			if err := f.remove(child); err != nil {
				return err
			}
		}
	}
	return nil
}

// after notes what a call did.
func (f *files) after(c *recording.Call) {
	path := f.handles.of(c)
	switch {
	case path == "":
	case c.Function == "OpenFile" && c.Succeeded():
		f.seen[path] = present
	case c.Function == "OpenFile" && win32.Errno(c.Win32) == win32.ERROR_FILE_NOT_FOUND:
		f.seen[path] = absent
	case c.Function == "SetInformation" && c.Succeeded() && deletes(c):
		f.seen[path], f.deleting[c.Handle] = unclear, true
	case c.Function == "Close" && f.deleting[c.Handle]:
		f.seen[path] = absent
		delete(f.deleting, c.Handle)
	case c.Function == "Rename" && c.Succeeded():
		f.renamed(path, c)
	}
	f.handles.follow(c, path)
}

func deletes(c *recording.Call) bool {
	switch c.Code {
	case win32.FileDispositionInfo:
		remove, err := win32.ParseFileDisposition(c.In)
		return err == nil && remove
	case win32.FileDispositionInfoEx:
		flags, err := win32.ParseFileDispositionEx(c.In)
		return err == nil && flags&win32.FILE_DISPOSITION_FLAG_DELETE != 0
	}
	return false
}

func (f *files) renamed(path string, c *recording.Call) {
	above := f.handles.open[c.Directory]
	for old, known := range f.seen {
		if rest, below := strings.CutPrefix(old+`\`, path+`\`); below {
			f.seen[old] = absent
			if above != "" {
				f.seen[strings.TrimSuffix(above+`\`+strings.ToLower(c.Argument)+`\`+rest, `\`)] = known
			}
		}
	}
}

// parents makes the directories above a path.
func (f *files) parents(i int, path string) error {
	above := parentOf(path)
	if above == "" || isRoot(above) || f.seen[above] == present {
		return nil
	}
	if _, err := f.node.HostPath(f.windows(path)); err == nil {
		return nil // they are there
	}
	return f.create(i, above)
}

// windows returns a path for the node.
func (f *files) windows(path string) string {
	if isRoot(path) {
		return `\\?\` + f.names.translate(path) + `\`
	}
	return `\\?\` + f.names.translate(f.spelled(path))
}

// host returns the host's path of a file, which may be missing, or a link, in a directory that is there.
func (f *files) host(path string) (string, error) {
	above := parentOf(path)
	dir, err := f.node.HostPath(f.windows(above))
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	name := f.spelled(path)[len(above)+1:]
	for _, entry := range entries {
		if strings.EqualFold(entry.Name(), name) {
			name = entry.Name()
		}
	}
	return filepath.Join(dir, name), nil
}

// create makes a file or directory that somebody else made, if it is missing.
func (f *files) create(i int, path string) error {
	if isRoot(path) {
		return nil
	}
	if err := f.parents(i, path); err != nil {
		return err
	}
	host, err := f.host(path)
	if err != nil {
		return nil //nolint:nilerr // below a link or a file, where the call itself finds out
	}
	k := f.of(path, i)
	if k.directory || !k.known && f.hasChildren(path) {
		err = os.Mkdir(host, 0o750)
	} else if _, missing := os.Lstat(host); missing != nil {
		err = os.WriteFile(host, make([]byte, min(k.size, 1<<20)), 0o600)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err == nil && k.readOnly && !k.directory:
		err = os.Chmod(host, 0o400)
	case err == nil && k.reparse != nil:
		err = f.link(path, k.reparse)
	}
	return err
}

func (f *files) hasChildren(path string) bool {
	for other := range f.kinds {
		if strings.HasPrefix(other, path+`\`) {
			return true
		}
	}
	return false
}

// link makes a directory a link that somebody else made.
func (f *files) link(path string, reparse []byte) error {
	h, err := f.node.OpenFile(nil, f.windows(path), kernel.OpenHow{
		Access: win32.FILE_WRITE_ATTRIBUTES, Share: 7, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	})
	if err != nil {
		return err
	}
	defer h.Close()
	point, err := win32.ParseReparsePoint(reparse)
	if err != nil {
		return err
	}
	point.SubstituteName, point.PrintName = f.names.translate(point.SubstituteName), f.names.translate(point.PrintName)
	_, err = h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil)
	return err
}

func (f *files) remove(path string) error {
	host, err := f.host(path)
	if err != nil {
		return nil //nolint:nilerr // it is not there
	}
	return os.RemoveAll(host)
}

// resize gives a file the size to which somebody wrote it.
func (f *files) resize(path string, size int64) error {
	host, err := f.host(path)
	if err != nil {
		return nil //nolint:nilerr // the call will say so
	}
	if info, err := os.Lstat(host); err != nil || !info.Mode().IsRegular() || info.Size() == size {
		return nil //nolint:nilerr // as above
	}
	return os.Truncate(host, size)
}
