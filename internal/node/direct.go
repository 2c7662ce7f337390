// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// A path without links is opened in one call: by its native name, with the demand that Windows refuses every link and
// mount point on the way. What was opened must then have the name that was asked for. Whatever else happens, the path
// is walked.
//
// Nothing is kept open for that. A working directory has a native name only if it lies on the drive that Windows runs
// from, whose volume cannot change, and is not behind a link; a link that comes later is refused like any other.

// directOpens is what a node knows about opening paths in one call. The zero value walks every path.
type directOpens struct {
	mu     sync.Mutex
	proved bool              // this system refuses links on the way
	native map[string]string // of working directories, by their keys; "" if there is none
	links  map[string]bool   // keys of links and mount points through which paths led when they were last walked
}

// linksMost limits the links that are remembered.
const linksMost = 4096

// path returns the native path of what lies below a working directory, if it can be opened in one call.
func (d *directOpens) path(root winpath.Path, rest []string) (native string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	above := d.native[root.Key()]
	if !d.proved || above == "" || d.throughLink(root, rest) {
		return "", false
	}
	return above + `\` + strings.Join(rest, `\`), true
}

// throughLink reports whether a link was last seen on the way; then it would be in vain to open the path at once.
func (d *directOpens) throughLink(root winpath.Path, rest []string) bool {
	if len(d.links) == 0 {
		return false
	}
	for i := 1; i < len(rest); i++ {
		if d.links[linkKey(root, rest[:i])] {
			return true
		}
	}
	return false
}

// passed notes what a walk came through: a link or mount point, or a plain directory.
func (d *directOpens) passed(root winpath.Path, rest []string, link bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !link && len(d.links) == 0 {
		return
	}
	key := linkKey(root, rest)
	switch {
	case !link:
		delete(d.links, key)
		return
	case d.links == nil || len(d.links) >= linksMost: // workloads can make links without end
		d.links = make(map[string]bool)
	}
	d.links[key] = true
}

func linkKey(root winpath.Path, rest []string) string {
	return root.Key() + winpath.Fold(`\`+strings.Join(rest, `\`))
}

// knows reports whether there is nothing to learn about a working directory.
func (d *directOpens) knows(root winpath.Path) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.native[root.Key()]
	return known || !d.proved
}

func (d *directOpens) learn(root winpath.Path, native string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.native == nil {
		d.native = make(map[string]string)
	}
	d.native[root.Key()] = native
}

func (d *directOpens) set(proved bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.proved = proved
}

// ProveDirectOpens finds out whether this system refuses links on the way to what is opened; only then are paths opened
// in one call. It is called before any operation.
func (n *Node) ProveDirectOpens(ctx context.Context) {
	k := kernel.Intercept(ctx, n.kernel, n.around)
	n.proveDirectOpens(ctx, k)
	for _, root := range n.dirs.Dirs() {
		if n.direct.knows(root) {
			continue
		}
		h, err := k.OpenFile(nil, root.Extended(), walk{}.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
		if err != nil { // kubelet has not made it yet: the first walk learns it
			continue
		}
		n.learnRoot(k, root, h)
		_ = h.Close()
	}
}

func (n *Node) proveDirectOpens(ctx context.Context, k kernel.Kernel) {
	err := refusesLinks(k)
	n.direct.set(err == nil)
	if err != nil {
		klog.FromContext(ctx).Info("Paths are walked component by component: links on the way cannot be refused in one call",
			"err", err)
	}
}

// learnRoot notes the native name of an open working directory, if it may be used.
func (n *Node) learnRoot(k kernel.Kernel, root winpath.Path, h kernel.Handle) {
	native := ""
	if system, err := k.SystemWindowsDirectory(); err == nil && system != "" && system[0]|0x20 == root.Drive()|0x20 {
		plain, err := h.FinalPath(win32.VOLUME_NAME_DOS)
		if err == nil && winpath.Fold(plain) == winpath.Fold(root.Extended()) {
			native = nativeName(k, h)
		}
	}
	n.direct.learn(root, native)
}

// nativeName returns the native name of an open directory, if it can be opened by that; else "". Inside a container it
// may mean something else.
func nativeName(k kernel.Kernel, h kernel.Handle) string {
	native, err := h.FinalPath(win32.VOLUME_NAME_NT)
	if err != nil {
		return ""
	}
	how := walk{}.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE|win32.FILE_OPEN_REPARSE_POINT)
	how.NoReparse = true
	again, err := k.OpenFile(nil, native, how)
	if err != nil {
		return ""
	}
	defer again.Close()
	if same, err := again.FinalPath(win32.VOLUME_NAME_NT); err != nil || same != native {
		return ""
	}
	return native
}

// refusesLinks makes a junction in the system's directory for temporary files and returns nil if nothing can be opened
// through it. The junction leads nowhere: if it stays because the process ends, it harms nobody.
func refusesLinks(k kernel.Kernel) (err error) {
	windows, err := k.SystemWindowsDirectory()
	if err != nil {
		return err
	}
	temp, err := k.OpenFile(nil, `\\?\`+windows+`\Temp`, walk{}.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if err != nil {
		return err
	}
	defer temp.Close()
	native, err := temp.FinalPath(win32.VOLUME_NAME_NT)
	if err != nil {
		return err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name := "csi-proxy-" + hex.EncodeToString(random[:])
	h, err := k.OpenFile(temp, name, kernel.OpenHow{
		Access: win32.FILE_WRITE_ATTRIBUTES | win32.FILE_READ_ATTRIBUTES | win32.DELETE, Share: shareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
	if err != nil {
		return err
	}
	junction := &leaf{Handle: h}
	defer func() { err = errors.Join(err, junction.remove(), h.Close()) }()
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + windows +
		`\Temp\` + name + `\nowhere`}
	if _, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil); err != nil {
		return err
	}
	through, err := k.OpenFile(nil, native+`\`+name+`\through`, kernel.OpenHow{
		Access: win32.FILE_READ_ATTRIBUTES, Share: shareAll, NoReparse: true,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
	})
	switch {
	case err == nil:
		return errors.Join(errors.New("a junction was followed"), through.Close())
	case errdefs.HasCode(err, win32.ERROR_REPARSE_POINT_ENCOUNTERED):
		return nil
	default:
		return fmt.Errorf("a junction was not refused: %w", err)
	}
}

// openDirectly opens or makes what lies at the end of a native path. Decided is false when the path must be walked: it
// is not certain that the path names what was opened, or why there is nothing, and nothing was made that a walk would
// find.
func (o *op) openDirectly(native string, how kernel.OpenHow) (h kernel.Handle, decided bool, err error) {
	how.NoReparse = true
	h, err = o.Kernel.OpenFile(nil, native, how)
	if err != nil {
		// Nothing above it is missing. Any other error the walk meets again, and explains.
		decided = errdefs.HasCode(err, win32.ERROR_FILE_NOT_FOUND, win32.ERROR_ALREADY_EXISTS)
		return nil, decided || how.Disposition == win32.FILE_CREATE && !madeNothing(err), err
	}
	final, err := h.FinalPath(win32.VOLUME_NAME_NT)
	if err == nil && winpath.Fold(final) == winpath.Fold(native) {
		return h, true, nil
	}
	if err == nil {
		// Somebody renamed a directory on the way, a filter driver sent the call elsewhere, or this system has stopped
		// refusing links.
		klog.FromContext(o.Context).Info("What was opened is not at the path that was asked for, which is walked now", "path",
			native, "opened", final)
		o.node.proveDirectOpens(o.Context, o.Kernel)
	}
	if how.Disposition == win32.FILE_CREATE {
		unseen := err
		err = (&leaf{Handle: h}).remove()
		return nil, unseen != nil || err != nil, errors.Join(unseen, err, h.Close())
	}
	return nil, false, errors.Join(err, h.Close())
}

// madeNothing reports whether it is certain that an attempt to make something had no effect. Otherwise the walk might
// find what the attempt made, and take it for somebody else's.
func madeNothing(err error) bool {
	return errdefs.HasCode(err, win32.ERROR_REPARSE_POINT_ENCOUNTERED, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_DIRECTORY,
		win32.ERROR_ACCESS_DENIED,
		win32.ERROR_SHARING_VIOLATION, win32.ERROR_INVALID_NAME, win32.ERROR_INVALID_PARAMETER, win32.ERROR_CANT_ACCESS_FILE)
}
