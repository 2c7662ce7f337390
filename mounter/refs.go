// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
)

// GetMountRefs returns the path itself if it exists and, of a mounter that sees kubelet's directory, the other paths in
// it at which the same volume or the same directory of a share is staged or published. Only kubelet's layout is seen:
// plugins/kubernetes.io/csi/DRIVER/VOLUME/globalmount and pods/POD/volumes/kubernetes.io~csi/PV/mount.
//
// NodePublishVolume refuses a single writer's second target (FailedPrecondition) if the references of the staging path
// hold a published path that is not the target.
func (m *Mounter) GetMountRefs(path string) ([]string, error) {
	ctx, at := context.Background(), windowsPath(path)
	exists, err := m.PathExists(ctx, at)
	if err != nil || !exists {
		return []string{}, err
	}
	refs := []string{path}
	all, err := m.kubelet.volumes()
	if err != nil || len(all) == 0 {
		return refs, err
	}
	there, err := m.volumeAt(ctx, at)
	if err != nil {
		return refs, err
	}
	remote, err := m.kubelet.remote(at)
	if err != nil {
		return refs, err
	}
	for _, other := range all {
		if strings.EqualFold(other, at) {
			continue
		}
		otherRemote, err := m.kubelet.remote(other)
		if err != nil {
			return refs, err
		}
		same := remote != "" && strings.EqualFold(otherRemote, remote)
		if there != "" {
			otherThere, err := m.volumeAt(ctx, other)
			if err != nil {
				return refs, err
			}
			same = otherThere == there
		}
		if same {
			refs = append(refs, other)
		}
	}
	return refs, nil
}

// volumeAt returns the volume that a path leads to, "" if it leads to none.
func (m *Mounter) volumeAt(ctx context.Context, path string) (string, error) {
	answer, err := m.client.Volume.GetVolumeIDFromTargetPath(ctx,
		&csiproxy.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	if isAny(err, csiproxy.ErrNotMounted, csiproxy.ErrLink, csiproxy.ErrOnShare, csiproxy.ErrVolumeNotFound) {
		return "", nil
	}
	return answer.GetVolumeId(), err
}

// kubelet is kubelet's directory. Without files it is empty.
type kubelet struct {
	path  string
	files fs.FS
}

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
	for _, pattern := range []string{kubeletpath.Staged, kubeletpath.Published} {
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
			// Nothing is below a file or a socket, and a socket that a crash left behind may refuse every look.
			if e.Type().IsRegular() || e.Type()&fs.ModeSocket != 0 {
				continue
			}
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
func (k kubelet) remote(link string) (string, error) {
	files, ok := k.files.(fs.ReadLinkFS)
	for links := 0; ok && links < 8; links++ {
		if len(link) <= len(k.path) || !strings.EqualFold(link[:len(k.path)+1], k.path+`\`) {
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
		if isRemote(target) && !strings.HasPrefix(target, `\\?\`) {
			return target, nil
		}
		link = target
	}
	return "", nil
}
