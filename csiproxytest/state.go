// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A Mapping is a mapped share.
type Mapping struct {
	Share  string // \\server\share
	Status string // "OK", "disconnected"
}

// Mappings returns the SMB global mappings of the node, by share. Like the other questions about the node's state it is
// no call of the agent: the journal does not show it, and no fault disturbs it.
func (n *Node) Mappings() []Mapping {
	n.t.Helper()
	found, err := n.machine.SMBGlobalMappings()
	n.must("listing the mappings", err)
	list := make([]Mapping, 0, len(found))
	for _, m := range found {
		list = append(list, Mapping{m.RemotePath, win32.SMBMappingStatusName(m.Status)})
	}
	slices.SortFunc(list, func(a, b Mapping) int { return strings.Compare(a.Share, b.Share) })
	return list
}

// A Session is a login to an iSCSI target.
type Session struct {
	Target    string // its qualified name
	Connected bool
}

// Sessions returns the iSCSI sessions of the node, by target. There are none while the service MSiSCSI does not run.
func (n *Node) Sessions() []Session {
	n.t.Helper()
	buffer, err := n.machine.ISCSISessionList()
	if code := win32.Errno(0); errors.As(err, &code) && code == win32.ISDSC_SERVICE_NOT_RUNNING {
		return nil
	}
	n.must("listing the sessions", err)
	found, err := win32.ParseISCSISessionList(buffer.Buffer, buffer.Base, buffer.Count)
	n.must("listing the sessions", err)
	list := make([]Session, 0, len(found))
	for _, s := range found {
		list = append(list, Session{s.TargetName, s.Connected})
	}
	slices.SortFunc(list, func(a, b Session) int { return strings.Compare(a.Target, b.Target) })
	return list
}

// A Mount is a directory at which a volume is mounted.
type Mount struct {
	Path   string // without a separator at its end
	Volume string // its id: \\?\Volume{GUID}\
}

// Mounts returns the directories of the node at which volumes are mounted, by path, without drive letters.
func (n *Node) Mounts() []Mount {
	n.t.Helper()
	volumes, err := n.machine.VolumeNames()
	n.must("listing the volumes", err)
	list := []Mount{}
	for _, id := range volumes {
		paths, err := n.machine.VolumePathNames(id)
		if errors.Is(err, win32.ERROR_FILE_NOT_FOUND) {
			continue // it went away
		}
		n.must("listing the mount points of "+id, err)
		for _, path := range paths {
			if path = strings.TrimSuffix(path, `\`); !strings.HasSuffix(path, ":") {
				list = append(list, Mount{path, id})
			}
		}
	}
	slices.SortFunc(list, func(a, b Mount) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// A Link is a symbolic link, or a junction that is not a mount point.
type Link struct {
	Path   string
	Target string // a path of the node, or a share
}

// Links returns the links below a directory of the node, such as KubeletDir's, by path. It follows none, and does not
// look into mounted volumes.
func (n *Node) Links(dir string) []Link {
	n.t.Helper()
	root := n.HostPath(dir)
	list := []Link{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root || !n.mayBeLink(entry) {
			return ignoreMissing(err)
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		at := strings.TrimSuffix(dir, `\`) + `\` + strings.ReplaceAll(below, string(filepath.Separator), `\`)
		target, err := n.machine.Readlink(at)
		if code := win32.Errno(0); errors.As(err, &code) && code == win32.ERROR_NOT_A_REPARSE_POINT {
			return nil
		}
		if err == nil && !strings.HasPrefix(target, `\\?\Volume{`) {
			list = append(list, Link{at, target})
		}
		if err = ignoreMissing(err); err != nil || !entry.IsDir() {
			return err
		}
		return fs.SkipDir
	})
	n.must("looking for links", err)
	return list
}

// mayBeLink reports whether a directory's entry can be a link: an emulated node keeps its links as directories.
func (n *Node) mayBeLink(entry fs.DirEntry) bool {
	if n.emulated != nil {
		return entry.IsDir()
	}
	return entry.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0
}

// ignoreMissing returns nil for an error that says that something is gone, as the driver may have just removed it.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// waitLimit is how long Wait and WaitFor wait: longer than any call of the agent may take.
const waitLimit = 2 * time.Minute

// Wait waits until a call that a query selects has ended, and returns it. Query.After decides whether earlier calls
// count. It ends the test after two minutes.
func (n *Node) Wait(q Query) *nodeapi.JournalEntry {
	n.t.Helper()
	var found *nodeapi.JournalEntry
	n.WaitFor(func() bool {
		for _, e := range n.Find(q) {
			if e.GetSequence() > 0 {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// WaitFor waits until a condition holds, such as one about Mappings or Mounts. It is looked at whenever a call has
// ended, on a real node all the time, and ends the test after two minutes.
func (n *Node) WaitFor(condition func() bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	for {
		next := func() bool { time.Sleep(100 * time.Millisecond); return ctx.Err() == nil }
		if n.emulated != nil {
			newest := n.Newest()
			next = func() bool { return n.emulated.Journal.Wait(ctx, newest) }
		}
		if condition() {
			return
		}
		if !next() {
			n.t.Fatalf("what the test waits for did not come within %v", waitLimit)
		}
	}
}
