// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// TestCallsNeedTheirAccess makes each call through a handle with the one right that it needs, and through one with all
// others: the rights that the agent asks for are those that its calls need.
func TestCallsNeedTheirAccess(t *testing.T) {
	const (
		all  = win32.FILE_READ_DATA | win32.FILE_WRITE_DATA | win32.FILE_READ_ATTRIBUTES | win32.FILE_WRITE_ATTRIBUTES | win32.DELETE
		file = `Sub\file.txt`
	)
	entries := func(h kernel.Handle) error { return h.Information(win32.FileFullDirectoryInfo, make([]byte, 2048)) }
	for _, test := range []struct {
		name   string
		object string
		needs  uint32
		call   func(h kernel.Handle) error
		wine   bool // Wine asks for nothing
	}{
		{"read", file, win32.FILE_READ_DATA,
			func(h kernel.Handle) error { _, err := h.ReadAt(make([]byte, 1), 0); return err }, false},
		{"flush", file, win32.FILE_WRITE_DATA, func(h kernel.Handle) error { return h.Flush() }, false},
		{"list", "Sub", win32.FILE_LIST_DIRECTORY, entries, false},
		{
			"set attributes", file, win32.FILE_WRITE_ATTRIBUTES,
			func(h kernel.Handle) error {
				return h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_NORMAL}.Bytes())
			},
			true,
		},
		{
			"delete", file, win32.DELETE,
			func(h kernel.Handle) error {
				return h.SetInformation(win32.FileDispositionInfo, win32.FileDisposition(true))
			},
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for access, want := range map[uint32]win32.Errno{test.needs: 0, all &^ test.needs: win32.ERROR_ACCESS_DENIED} {
				if test.wine && want != 0 && onWine() {
					continue
				}
				h := open(t, nil, finalPath(t, tree(t), win32.VOLUME_NAME_DOS)+`\`+test.object, kernel.OpenOptions{
					Access: access, Share: shareAll, Disposition: win32.FILE_OPEN, Options: win32.FILE_OPEN_REPARSE_POINT,
				})
				check(t, test.call(h), want)
				must(t, h.Close())
			}
		})
	}
}

// TestSharing opens each object twice: what one handle does not share, the other may not have.
func TestSharing(t *testing.T) {
	const none = 0
	rights := []struct {
		name   string
		access uint32
		share  uint32 // that it needs of the others
	}{
		{"read", win32.FILE_READ_DATA, win32.FILE_SHARE_READ},
		{"write", win32.FILE_WRITE_DATA, win32.FILE_SHARE_WRITE},
		{"delete", win32.DELETE, win32.FILE_SHARE_DELETE},
		{"look at", win32.FILE_READ_ATTRIBUTES, none},
	}
	base := finalPath(t, tree(t), win32.VOLUME_NAME_DOS)
	for _, object := range []string{"Sub", `Sub\file.txt`} {
		for _, first := range rights {
			for share := range uint32(shareAll + 1) {
				for _, second := range rights {
					how := kernel.OpenOptions{Access: first.access, Share: share, Disposition: win32.FILE_OPEN,
						Options: win32.FILE_OPEN_REPARSE_POINT}
					h := open(t, nil, base+`\`+object, how)
					how.Access, how.Share = second.access, shareAll
					again, err := Kernel{}.OpenFile(nil, base+`\`+object, how)
					if err == nil {
						must(t, again.Close())
					}
					must(t, h.Close())
					var want win32.Errno
					if first.share != none && second.share&^share != 0 { // handles without data access do not count
						want = win32.ERROR_SHARING_VIOLATION
					}
					if check(t, err, want); t.Failed() {
						t.Fatalf("%s: %s and %s, shared %#x", filepath.Base(object), first.name, second.name, share)
					}
				}
			}
		}
	}
}

// TestDevicesAreShared: others may have what OpenDevice opens, for reading and writing, but not for deleting. A file
// stands for the device: the system treats its sharing in the same way.
func TestDevicesAreShared(t *testing.T) {
	path := finalPath(t, tree(t), win32.VOLUME_NAME_DOS) + `\Sub\file.txt`
	if !strings.HasPrefix(path, win32Prefix) {
		t.Fatalf("got %q", path)
	}
	openDevice(t, path, win32.GENERIC_READ|win32.GENERIC_WRITE)
	openDevice(t, path, win32.GENERIC_READ|win32.GENERIC_WRITE)
	_, err := Kernel{}.OpenFile(nil, path, remove())
	check(t, err, win32.ERROR_SHARING_VIOLATION)
}
