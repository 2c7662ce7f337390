// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// VolumeNames implements kernel.Volumes.
func (n *Node) VolumeNames() ([]string, error) {
	return called(n, "FindFirstVolumeW", "", func() (names []string, err error) {
		for _, v := range n.volumeList() {
			names = append(names, v.name())
		}
		return names, nil
	})
}

// VolumePathNames implements kernel.Volumes: drive letters first, then mount points.
func (n *Node) VolumePathNames(volumeName string) ([]string, error) {
	return called(n, "GetVolumePathNamesForVolumeNameW", volumeName, func() ([]string, error) {
		id, ok := parseVolumeName(volumeName)
		if !ok {
			return nil, win32.ERROR_INVALID_NAME
		}
		_, err := n.volumeWith(id)
		return n.state.pathNames(id, nil), err
	})
}

// pathNames returns the mount manager's names of a volume, each with a separator at the end. The name of a mount point
// is a name of the volume that it lies on plus its path there. Visited ends the search where volumes are mounted in a
// circle.
func (s *state) pathNames(id guid.GUID, visited []guid.GUID) []string {
	if slices.Contains(visited, id) {
		return nil
	}
	visited = append(slices.Clone(visited), id)
	var names []string
	for _, l := range s.Letters {
		if l.Volume == id {
			names = append(names, l.Letter+`:\`)
		}
	}
	for _, m := range s.Mounts {
		if m.Volume != id {
			continue
		}
		for _, host := range s.pathNames(m.Host, visited) {
			names = append(names, host+strings.Join(m.Path, `\`)+`\`)
		}
	}
	return names
}

// mountPoint parses the path of a mount point, which must end in a separator.
func mountPoint(path string) (ntPath, error) {
	if !strings.HasSuffix(path, `\`) {
		return ntPath{}, win32.ERROR_INVALID_NAME
	}
	return parseWin32(path)
}

// VolumeNameForMountPoint implements kernel.Volumes. A link that is not a mount point of a volume is
// ERROR_INVALID_PARAMETER, a volume that is gone ERROR_FILE_NOT_FOUND.
func (n *Node) VolumeNameForMountPoint(path string) (string, error) {
	return called(n, "GetVolumeNameForVolumeMountPointW", path, func() (string, error) { return n.volumeNameFor(path) })
}

func (n *Node) volumeNameFor(path string) (string, error) {
	p, err := mountPoint(path)
	if err != nil {
		return "", err
	}
	if len(p.names) == 0 {
		v, err := n.volumeOf(p)
		if err != nil {
			return "", err
		}
		return v.name(), nil
	}
	h, err := n.openMountPoint(p, path, win32.FILE_READ_ATTRIBUTES, shareAll)
	if err != nil {
		return "", err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	id, err := h.mountedVolume()
	if err != nil {
		return "", err
	}
	if _, ok := n.volume(id); !ok {
		return "", win32.ERROR_FILE_NOT_FOUND
	}
	return volumeName(id), nil
}

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// openToChange opens a directory as the functions do that make and remove mount points.
func (n *Node) openToChange(p ntPath, path string) (*fileHandle, error) {
	access, share := uint32(win32.FILE_LIST_DIRECTORY|win32.FILE_WRITE_DATA|win32.FILE_READ_ATTRIBUTES), uint32(shareAll)
	if n.state.Switches.MountPointCallsDelete {
		access |= win32.DELETE
	}
	if !n.state.Switches.MountPointCallsShareDelete {
		share &^= win32.FILE_SHARE_DELETE
	}
	return n.openMountPoint(p, path, access, share)
}

// openMountPoint opens a directory or reparse point, but not the reparse point's target.
func (n *Node) openMountPoint(p ntPath, path string, access, share uint32) (*fileHandle, error) {
	at, err := n.resolve(p, false)
	if err != nil {
		return nil, err
	}
	return at.open(path, kernel.OpenOptions{
		Access: access, Share: share,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
}

// mountedVolume returns the volume that is mounted at an open directory.
func (h *fileHandle) mountedVolume() (guid.GUID, error) {
	e, err := h.entry()
	if err != nil {
		return guid.GUID{}, err
	}
	if e.tag == 0 {
		return guid.GUID{}, win32.ERROR_NOT_A_REPARSE_POINT
	}
	r, err := e.reparse()
	if err != nil {
		return guid.GUID{}, err
	}
	p, err := parseSubstitute(r.SubstituteName)
	if err != nil || r.Tag != win32.IO_REPARSE_TAG_MOUNT_POINT || p.volume == (guid.GUID{}) || len(p.names) > 0 {
		return guid.GUID{}, win32.ERROR_INVALID_PARAMETER
	}
	return p.volume, nil
}

// isStale reports whether the directory of a record was seen not to be a mount point of the volume. Nothing is seen of
// a directory on a volume that is absent, nor when the host cannot open it.
func (n *Node) isStale(m mountState) bool {
	if host, ok := n.volume(m.Host); !ok || !host.formatted() {
		return false
	}
	h, err := n.openMountPoint(ntPath{volume: m.Host, names: m.Path}, strings.Join(m.Path, `\`),
		win32.FILE_READ_ATTRIBUTES, shareAll)
	if err != nil {
		return isNoMountPoint(err)
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	id, err := h.mountedVolume()
	if err != nil {
		return isNoMountPoint(err)
	}
	return id != m.Volume
}

// isNoMountPoint reports whether an error of looking for a mount point means that there is none.
func isNoMountPoint(err error) bool {
	switch code(err) {
	case win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_DIRECTORY, win32.ERROR_NOT_A_REPARSE_POINT,
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_CANT_ACCESS_FILE:
		return true
	}
	return false
}

// repairMounts drops stale records, as Windows' mount manager does when it starts. It makes records and directories
// agree after a death between their changes.
func (n *Node) repairMounts() error {
	stale := slices.DeleteFunc(slices.Clone(n.state.Mounts), func(m mountState) bool { return !n.isStale(m) })
	if len(stale) == 0 {
		return nil
	}
	return n.update(func(s *state) {
		for _, m := range stale {
			s.dropMount(m)
		}
	})
}
