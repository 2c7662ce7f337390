// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// WithKubelet returns a mounter that also looks into kubelet's directory, for what the API does not list. The path is
// that of the directory on the node, and files the directory as this process sees it. Only names and links are read.
func (m *Mounter) WithKubelet(path string, files fs.FS) *Mounter {
	with := *m
	with.kubelet = kubelet{strings.TrimRight(WindowsPath(path), `\`), files}
	return &with
}

// Agent is what the agent itself knows and may do, when it does the steps for a client.
type Agent struct {
	// MountPoints returns where a volume is mounted.
	MountPoints func(ctx context.Context, volume string) ([]string, error)
	// Means returns a context for changes of a disk by its number: they fail if the number is another disk's by then.
	Means func(ctx context.Context, disk Disk) context.Context
	// MeansDiskOf is Means for the disk of a volume. Such a change leaves a disk online while a volume of it is mounted.
	MeansDiskOf func(ctx context.Context, disk uint32, volume string) context.Context
	// DiskDevices returns the devices of the disks by number.
	DiskDevices func(ctx context.Context) (map[uint32]DiskDevice, error)
	// DataVolume returns the one data volume of a disk.
	DataVolume func(ctx context.Context, disk uint32) (string, error)
	// AddAccess adds entries to the access list of the root directory of a volume that holds nothing.
	AddAccess func(ctx context.Context, volume string, access []Access) (AccessResult, error)
	// Own returns a context for looking at what other clients have staged: the client's own rights do not matter there.
	Own func(ctx context.Context) context.Context
}

// ForAgent returns a mounter for the agent itself.
func (m *Mounter) ForAgent(a Agent) *Mounter {
	with := *m
	with.agent = a
	return &with
}

// kubelet is kubelet's directory. Without files it is empty.
type kubelet struct {
	path  string
	files fs.FS
}

// places are where kubelet has drivers stage and publish volumes.
var places = []string{"plugins/kubernetes.io/csi/*/*/globalmount", "pods/*/volumes/kubernetes.io~csi/*/mount"}

// volumes returns the paths at which volumes may be staged or published. A name that cannot be read is an error: a
// volume that is passed over would count as gone.
func (k kubelet) volumes() ([]string, error) {
	if k.files == nil {
		return nil, nil
	}
	if _, err := fs.Stat(k.files, "."); err != nil {
		return nil, fmt.Errorf("WithKubelet was given files in which this process does not find %s; "+
			"off Windows, those of a test's node are at its HostPath: %w", k.path, err)
	}
	var all []string
	for _, pattern := range places {
		found, err := k.below(".", strings.Split(pattern, "/"))
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			all = append(all, k.path+`\`+strings.ReplaceAll(name, "/", `\`))
		}
	}
	return all, nil
}

// below returns the names that a place has below a directory. A * stands for every name.
func (k kubelet) below(dir string, pattern []string) (found []string, err error) {
	if len(pattern) == 0 {
		return []string{dir}, nil
	}
	names := pattern[:1]
	if pattern[0] == "*" {
		entries, err := fs.ReadDir(k.files, dir)
		if err != nil && !isNoDirectory(err) {
			return nil, err
		}
		names = nil
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		name = path.Join(dir, name)
		if _, err := fs.Lstat(k.files, name); isNoDirectory(err) {
			continue
		} else if err != nil {
			return nil, err
		}
		more, err := k.below(name, pattern[1:])
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// isNoDirectory reports whether a failure means that a directory is not there, or a file is in its place.
func isNoDirectory(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// remote returns the remote path that a link leads to, directly or through kubelet's directory, without a backslash at
// the end; "" if it leads elsewhere.
func (k kubelet) remote(link string, through bool) (string, error) {
	files, ok := k.files.(fs.ReadLinkFS)
	for links := 0; ok && links < 8; links++ {
		if len(link) <= len(k.path) || !sameName(link[:len(k.path)+1], k.path+`\`) {
			return "", nil
		}
		name := strings.ReplaceAll(link[len(k.path)+1:], `\`, "/")
		switch info, err := files.Lstat(name); {
		case isNoDirectory(err):
			return "", nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			return "", nil
		}
		target, err := files.ReadLink(name)
		if err != nil {
			return "", err
		}
		if rest, ok := strings.CutPrefix(target, `\\?\UNC\`); ok {
			target = `\\` + rest
		}
		target = strings.TrimRight(target, `\`)
		if (use{Remote: target}).share() != "" && !strings.HasPrefix(target, `\\?\`) {
			return target, nil
		}
		if !through {
			return "", nil
		}
		link = target
	}
	return "", nil
}

// GetMountRefs returns the path itself if it exists and, of a mounter that sees kubelet's directory, the other paths in
// it at which the same volume or the same directory of a share is staged or published.
func (m *Mounter) GetMountRefs(path string) ([]string, error) {
	ctx, at := context.Background(), WindowsPath(path)
	exists, err := m.PathExists(ctx, at)
	if err != nil || !exists {
		return []string{}, err
	}
	refs := []string{path}
	all, err := m.kubelet.volumes()
	if err != nil || len(all) == 0 {
		return refs, err
	}
	there, err := m.at(ctx, at)
	if err != nil {
		return refs, err
	}
	remote, err := m.kubelet.remote(at, true)
	if err != nil {
		return refs, err
	}
	for _, other := range all {
		if sameName(other, at) {
			continue
		}
		otherRemote, err := m.kubelet.remote(other, true)
		if err != nil {
			return refs, err
		}
		same := remote != "" && sameName(otherRemote, remote)
		if there.Volume != "" {
			otherThere, err := m.at(ctx, other)
			if err != nil {
				return refs, err
			}
			same = otherThere.Volume == there.Volume
		}
		if same {
			refs = append(refs, other)
		}
	}
	return refs, nil
}
