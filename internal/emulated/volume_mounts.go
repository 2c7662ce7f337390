// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"slices"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
)

// SetVolumeMountPoint implements kernel.Volumes. A malformed volume name is ERROR_INVALID_PARAMETER, an unknown one
// ERROR_FILE_NOT_FOUND; a drive letter that is taken is ERROR_DIR_NOT_EMPTY.
func (n *Node) SetVolumeMountPoint(path, volumeName string) (err error) {
	defer n.call("SetVolumeMountPointW", path, &err)()
	p, err := ntpath.ParseMountPoint(path)
	if err != nil {
		return err
	}
	v, err := n.disks.volumeNamed(volumeName)
	if err != nil {
		return err
	}
	if v.formatted() { // programs of the host that follow the mount point find the directory
		if _, err := n.mount(content{id: v.ID, path: v.disk.image.Files(v.ID)}); err != nil {
			return err
		}
	}
	if len(p.Names) == 0 {
		return n.setLetter(p, v.ID)
	}
	const onShare = win32.ERROR_INVALID_PARAMETER // volumes are mounted on local file systems
	if p.UNC {
		return onShare
	}
	h, err := n.openToChange(p, path)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	if h.content.isShare() {
		return onShare
	}
	e, err := h.changingReparse()
	if err != nil {
		return err
	}
	if e.Tag != 0 {
		return win32.ERROR_DIR_NOT_EMPTY
	}
	if err := hostfiles.CheckEmpty(h.self); err != nil {
		return err
	}
	// The record comes first: a record without a mount point is dropped at the next start, but a mount point without a
	// record would never be found.
	record := mountState{Volume: v.ID, Host: h.content.id, Path: h.names()}
	if err := n.update(func(s *state) { s.dropMount(record); s.Mounts = append(s.Mounts, record) }); err != nil {
		return err
	}
	substitute := ntpath.Prefix + strings.TrimPrefix(v.name(), ntpath.VerbatimPrefix)
	r := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: substitute}
	err = n.host.SetReparse(h.self, r)
	if err != nil {
		err = errors.Join(err, h.forgetMount())
	}
	return err
}

// dropMount removes the record of the place, whatever its volume.
func (s *state) dropMount(at mountState) {
	s.Mounts = slices.DeleteFunc(s.Mounts, at.samePlace)
}

func (m mountState) samePlace(o mountState) bool {
	return m.Host == o.Host && slices.EqualFunc(m.Path, o.Path, hostfiles.SameName)
}

func (n *Node) setLetter(p ntpath.Path, id guid.GUID) error {
	switch {
	case p.Letter == "":
		return win32.ERROR_INVALID_PARAMETER
	case n.state.letter(p.Letter) != nil:
		return win32.ERROR_DIR_NOT_EMPTY
	}
	return n.update(func(s *state) { s.Letters = append(s.Letters, letterState{Letter: p.Letter, Volume: id}) })
}

// DeleteVolumeMountPoint implements kernel.Volumes, for directories alone. If the volume is gone it fails with
// ERROR_FILE_NOT_FOUND, which is not confirmed for Windows; FSCTL_DELETE_REPARSE_POINT works then.
func (n *Node) DeleteVolumeMountPoint(path string) (err error) {
	defer n.call("DeleteVolumeMountPointW", path, &err)()
	p, err := ntpath.ParseMountPoint(path)
	if err != nil {
		return err
	}
	h, err := n.openToChange(p, path)
	if err != nil {
		return err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	id, err := h.mountedVolume()
	if err != nil {
		return err
	}
	if _, err := n.disks.volumeWith(id); err != nil {
		return err
	}
	if _, err := h.changingReparse(); err != nil {
		return err
	}
	if err := n.host.ClearReparse(h.self); err != nil {
		return err
	}
	return h.forgetMount()
}

// forgetMount drops the mount manager's record, if any, of a mount point that was removed from the handle's path.
func (h *fileHandle) forgetMount() error {
	record := mountState{Host: h.content.id, Path: h.names()}
	if !slices.ContainsFunc(h.node.state.Mounts, record.samePlace) {
		return nil
	}
	return h.node.follow(func(s *state) { s.dropMount(record) })
}

// VolumeNames implements kernel.Volumes.
func (n *Node) VolumeNames() (names []string, err error) {
	defer n.call("FindFirstVolumeW", "", &err)()
	for _, v := range n.disks.volumes() {
		names = append(names, v.name())
	}
	return names, nil
}

// VolumePathNames implements kernel.Volumes: drive letters first, then mount points.
func (n *Node) VolumePathNames(volumeName string) (_ []string, err error) {
	defer n.call("GetVolumePathNamesForVolumeNameW", volumeName, &err)()
	id, ok := ntpath.ParseVolumeName(volumeName)
	if !ok {
		return nil, win32.ERROR_INVALID_NAME
	}
	if _, err := n.disks.volumeWith(id); err != nil {
		return nil, err
	}
	return n.state.pathNames(id), nil
}

// pathNames returns the mount manager's names of a volume, each with a separator at the end. The name of a mount point
// is a name of the volume that it lies on plus its path there. Visited ends the search where volumes are mounted in a
// circle.
func (s *state) pathNames(id guid.GUID, visited ...guid.GUID) []string {
	if slices.Contains(visited, id) {
		return nil
	}
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
		for _, host := range s.pathNames(m.Host, append(slices.Clip(visited), id)...) {
			names = append(names, host+strings.Join(m.Path, `\`)+`\`)
		}
	}
	return names
}

// VolumeNameForMountPoint implements kernel.Volumes. A link that is not a mount point of a volume is
// ERROR_INVALID_PARAMETER, a volume that is gone ERROR_FILE_NOT_FOUND.
func (n *Node) VolumeNameForMountPoint(path string) (_ string, err error) {
	defer n.call("GetVolumeNameForVolumeMountPointW", path, &err)()
	p, err := ntpath.ParseMountPoint(path)
	if err != nil {
		return "", err
	}
	v, err := n.volumeOf(p)
	if len(p.Names) > 0 { // not the root of a drive or volume
		var id guid.GUID
		if id, err = n.mountedAt(p, path); err == nil {
			v, err = n.disks.volumeWith(id)
		}
	}
	if err != nil {
		return "", err
	}
	return v.name(), nil
}

const shareAll = win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE

// openToChange opens a directory as the functions do that make and remove mount points.
func (n *Node) openToChange(p ntpath.Path, path string) (*fileHandle, error) {
	access := uint32(win32.FILE_LIST_DIRECTORY | win32.FILE_WRITE_DATA | win32.FILE_READ_ATTRIBUTES)
	if n.state.Switches.MountPointCallsDelete {
		access |= win32.DELETE
	}
	return n.openMountPoint(p, path, access, shareAll&^win32.FILE_SHARE_DELETE)
}

// openMountPoint opens a directory or reparse point, but not the reparse point's target.
func (n *Node) openMountPoint(p ntpath.Path, path string, access, share uint32) (*fileHandle, error) {
	at, err := n.resolve(p, false)
	if err != nil {
		return nil, err
	}
	return at.open(path, kernel.OpenOptions{
		Access: access, Share: share,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE | win32.FILE_OPEN_REPARSE_POINT,
	})
}

// mountedAt returns the volume that is mounted at a directory.
func (n *Node) mountedAt(p ntpath.Path, path string) (guid.GUID, error) {
	h, err := n.openMountPoint(p, path, win32.FILE_READ_ATTRIBUTES, shareAll)
	if err != nil {
		return guid.GUID{}, err
	}
	defer func() { _ = h.close() }() // nothing is lost: it holds no data
	return h.mountedVolume()
}

// mountedVolume returns the volume that is mounted at an open directory.
func (h *fileHandle) mountedVolume() (guid.GUID, error) {
	r, err := h.reparse()
	if err != nil {
		return guid.GUID{}, err
	}
	p, err := ntpath.ParseSubstitute(r.SubstituteName)
	if err != nil || r.Tag != win32.IO_REPARSE_TAG_MOUNT_POINT || p.Volume == (guid.GUID{}) || len(p.Names) > 0 {
		return guid.GUID{}, win32.ERROR_INVALID_PARAMETER
	}
	return p.Volume, nil
}

// isStale reports whether the directory of a record was seen not to be a mount point of the volume. Nothing is seen of
// a directory on a volume that is absent, nor when the host cannot open it.
func (n *Node) isStale(m mountState) bool {
	if host := n.disks.volume(m.Host); host == nil || !host.formatted() {
		return false
	}
	id, err := n.mountedAt(ntpath.Path{Volume: m.Host, Names: m.Path}, strings.Join(m.Path, `\`))
	if err != nil {
		return isNoMountPoint(err)
	}
	return id != m.Volume
}

// isNoMountPoint reports whether an error of looking for a mount point means that there is none.
func isNoMountPoint(err error) bool {
	return slices.Contains([]win32.Errno{
		win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, win32.ERROR_DIRECTORY, win32.ERROR_NOT_A_REPARSE_POINT,
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_CANT_ACCESS_FILE,
	}, hostfiles.Code(err))
}

// repairMounts drops stale records, as Windows' mount manager does when it starts. It makes records and directories
// agree after a death between their changes.
func (n *Node) repairMounts() error {
	good := slices.DeleteFunc(slices.Clone(n.state.Mounts), n.isStale)
	if len(good) == len(n.state.Mounts) {
		return nil
	}
	return n.update(func(s *state) { s.Mounts = good })
}
