// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// kind is what a recording shows of a file.
type kind struct {
	known               bool // whether it is a directory
	directory, readOnly bool
	size                int64
	tag                 uint32
	reparse             []byte // its reparse point
}

// with adds what another call shows.
func (k kind) with(o kind) kind {
	if !k.known {
		k.known, k.directory = o.known, o.directory
	}
	k.readOnly = k.readOnly || o.readOnly
	k.size = max(k.size, o.size)
	if k.reparse == nil {
		k.reparse = o.reparse
	}
	if k.tag == 0 {
		k.tag = o.tag
	}
	return k
}

// listed is a directory's listing, which may take several calls.
type listed struct {
	entries  []win32.DirectoryEntry
	complete bool
}

// evidence is what the calls of a recording show of files.
type evidence struct {
	kinds    map[string][]kindAt
	spelling map[string]string // the last name of a path in the case that was seen
	listings map[int]*listed   // by the call that begins it
}

// kindAt is evidence from a call.
type kindAt struct {
	at   int
	kind kind
}

func newEvidence(calls []recording.Call) *evidence {
	e := &evidence{kinds: map[string][]kindAt{}, spelling: map[string]string{}, listings: map[int]*listed{}}
	handles, open := newPaths(), map[uint64]*listed{}
	for i := range calls {
		c := &calls[i]
		path := handles.of(c)
		handles.follow(c, path)
		if path == "" {
			continue
		}
		k, shown := e.shows(i, c, open, path)
		if shown {
			e.add(i, path, k)
		}
		if c.Function == "OpenFile" {
			e.spell(path, lastName(c))
			if c.Directory != 0 {
				e.add(i, parentOf(path), kind{known: true, directory: true})
			}
		}
	}
	return e
}

// shows returns what a call shows of the file at a path.
func (e *evidence) shows(i int, c *recording.Call, open map[uint64]*listed, path string) (k kind, shown bool) {
	switch {
	case c.Function == "OpenFile" && c.Succeeded():
		directory := c.How.Options&win32.FILE_DIRECTORY_FILE != 0
		return kind{known: true, directory: directory}, directory || c.How.Options&win32.FILE_NON_DIRECTORY_FILE != 0
	case c.Function == "OpenFile" && win32.Errno(c.Win32) == win32.ERROR_DIRECTORY:
		return kind{known: true}, true
	case c.Function == "OpenFile" && win32.Errno(c.Win32) == win32.ERROR_ACCESS_DENIED &&
		c.How.Options&win32.FILE_NON_DIRECTORY_FILE != 0:
		return kind{known: true, directory: true}, true
	case c.Function == "DeviceIoControl" && c.Code == win32.FSCTL_GET_REPARSE_POINT && c.Succeeded():
		return kind{known: true, directory: true, reparse: c.Out}, true
	case c.Function == "Information" && c.Code == win32.FileStandardInfo && c.Succeeded():
		s, err := win32.ParseFileStandard(room(c, 24))
		return kind{known: true, directory: s.Directory, size: s.EndOfFile}, err == nil
	case c.Function == "Information" && c.Code == win32.FileAttributeTagInfo && c.Succeeded():
		a, err := win32.ParseFileAttributeTag(room(c, 8))
		return attributed(a.Attributes, a.ReparseTag), err == nil
	case c.Function == "Information" &&
		(c.Code == win32.FileFullDirectoryInfo || c.Code == win32.FileFullDirectoryRestartInfo):
		e.list(i, c, open, path)
		return kind{known: true, directory: true}, c.Succeeded()
	}
	return kind{}, false
}

func attributed(attributes, tag uint32) kind {
	return kind{
		known: true, directory: attributes&win32.FILE_ATTRIBUTE_DIRECTORY != 0,
		readOnly: attributes&win32.FILE_ATTRIBUTE_READONLY != 0, tag: tag,
	}
}

// room returns an output with the zeros at its end that a recording leaves out.
func room(c *recording.Call, atLeast int) []byte {
	return append(append([]byte(nil), c.Out...), make([]byte, max(0, max(c.Room, atLeast)-len(c.Out)))...)
}

// list collects a listing.
func (e *evidence) list(i int, c *recording.Call, open map[uint64]*listed, path string) {
	l := open[c.Handle]
	if l == nil || c.Code == win32.FileFullDirectoryRestartInfo {
		l = &listed{}
		open[c.Handle], e.listings[i] = l, l
	}
	if win32.Errno(c.Win32) == win32.ERROR_NO_MORE_FILES {
		l.complete = true
		delete(open, c.Handle)
	}
	entries, err := win32.ParseDirectoryEntries(room(c, 0))
	if err != nil || !c.Succeeded() {
		return
	}
	for _, entry := range entries {
		if entry.Name == "." || entry.Name == ".." {
			continue
		}
		l.entries = append(l.entries, entry)
		child := path + `\` + strings.ToLower(entry.Name)
		k := attributed(entry.Attributes, entry.ReparseTag)
		k.size = entry.EndOfFile
		e.add(i, child, k)
		e.spell(child, entry.Name)
	}
}

func (e *evidence) add(at int, path string, k kind) {
	e.kinds[path] = append(e.kinds[path], kindAt{at, k})
}

func (e *evidence) spell(path, name string) {
	if strings.HasSuffix(path, `\`+strings.ToLower(name)) {
		e.spelling[path] = name
	}
}

// of returns what a file is at a call, by what is seen of it from then on.
func (e *evidence) of(path string, at int) (k kind) {
	for _, one := range e.kinds[path] {
		if one.at >= at && (!k.known || !one.kind.known || one.kind.directory == k.directory) {
			k = k.with(one.kind)
		}
	}
	return k
}

// spelled returns a path in the case that was seen.
func (e *evidence) spelled(path string) string {
	above := parentOf(path)
	if above == "" {
		return path
	}
	name := path[len(above)+1:]
	if seen, ok := e.spelling[path]; ok {
		name = seen
	}
	return e.spelled(above) + `\` + name
}

func parentOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '\\'))] }

func lastName(c *recording.Call) string {
	if c.Directory != 0 {
		return c.Argument
	}
	return c.Object[strings.LastIndexByte(c.Object, '\\')+1:]
}

// paths follows the paths of open files: c:\dir\file or volume{…}\file, in lower case.
type paths struct {
	open    map[uint64]string
	devices map[string]bool // the other names of drive C: of its device and its volume
}

func newPaths() *paths { return &paths{map[uint64]string{}, map[string]bool{}} }

// of returns the path of the file that a call is about, "" if it is about none or the path is none that the node has.
func (p *paths) of(c *recording.Call) string {
	switch {
	case c.Function == "OpenFile" && c.Directory != 0:
		if above := p.open[c.Directory]; above != "" && c.Argument != "" && isPlain(c.Argument) &&
			!strings.Contains(c.Argument, `\`) {
			return above + `\` + strings.ToLower(c.Argument)
		}
		return ""
	case c.Function == "OpenFile":
		return p.absolute(c.Object)
	case isOfDirectories(c.Function):
		return p.absolute(`\\?\` + strings.TrimPrefix(c.Object, `\\?\`))
	case c.Device:
		return ""
	}
	return p.open[c.Handle]
}

// isOfDirectories reports whether a function takes the path of a directory.
func isOfDirectories(function string) bool {
	switch function {
	case "VolumeNameForMountPoint", "SetVolumeMountPoint", "DeleteVolumeMountPoint", "VolumeInformation", "DiskFreeSpace":
		return true
	}
	return false
}

// absolute returns an absolute path as of does.
func (p *paths) absolute(path string) string {
	path = strings.ToLower(path)
	if device := deviceIn.FindString(path); p.devices[device] {
		path = `\\?\c:` + strings.TrimPrefix(path, device)
	}
	path, verbatim := strings.CutPrefix(path, `\\?\`)
	root, below, rooted := strings.Cut(path, `\`)
	if p.devices[root] {
		root = "c:"
	}
	if !verbatim || !rooted || root != "c:" && volumeIn.FindString(root) != root || !isPlain(below) {
		return ""
	}
	below = strings.TrimSuffix(below, `\`)
	for name := range strings.SplitSeq(below, `\`) {
		if name == ".." || name == "." || name == "" && below != "" {
			return ""
		}
	}
	return strings.TrimSuffix(root+`\`+below, `\`)
}

// isRoot reports whether a path is that of a volume's root directory.
func isRoot(path string) bool { return !strings.Contains(path, `\`) }

func isPlain(names string) bool { return !strings.ContainsAny(names, `/:*?"<>|`+"\x00") }

// follow notes what a call did to the paths.
func (p *paths) follow(c *recording.Call, path string) {
	switch {
	case !c.Succeeded():
	case c.Function == "OpenFile":
		p.open[c.Sequence] = path
	case c.Function == "FinalPath":
		final := strings.ToLower(text(c))
		if below, onC := strings.CutPrefix(path, "c:"); onC && below != "" && strings.HasSuffix(final, below) {
			for _, name := range []string{deviceIn.FindString(final), volumeIn.FindString(final)} {
				p.devices[name] = name != ""
			}
		} else if other := p.absolute(final); other != "" { // it was opened through a mount point or a link
			p.open[c.Handle] = other
		}
	case c.Function == "Rename":
		to := ""
		if above := p.open[c.Directory]; above != "" {
			to = above + `\` + strings.ToLower(c.Argument)
		}
		for h, old := range p.open {
			if rest, below := strings.CutPrefix(old+`\`, path+`\`); below && path != "" {
				p.open[h] = strings.TrimSuffix(to+`\`+rest, `\`)
				if to == "" {
					p.open[h] = ""
				}
			}
		}
	}
}
