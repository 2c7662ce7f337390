// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"io/fs"
	"strings"
)

// WithKubelet returns a mounter that also looks into kubelet's directory, for what the API does not list: GetMountRefs finds
// the other paths of a volume, and Shares counts the links of drivers that do not record theirs. The path is that of the
// directory on the node, and files the directory as this process sees it: a driver whose container has it mounted gives
//
//	m.WithKubelet(`C:\var\lib\kubelet`, os.DirFS(`C:\var\lib\kubelet`))
//
// Only names and links are read. Links to shares are found if files is an fs.ReadLinkFS, as os.DirFS is.
func (m *Mounter) WithKubelet(path string, files fs.FS) *Mounter {
	return &Mounter{client: m.client, kubelet: kubelet{strings.TrimRight(windowsPath(path), `\`), files}}
}

// kubelet is kubelet's directory. Without files it is empty.
type kubelet struct {
	path  string
	files fs.FS
}

// places are where kubelet has drivers stage and publish volumes.
var places = []string{"plugins/kubernetes.io/csi/*/*/globalmount", "pods/*/volumes/kubernetes.io~csi/*/mount"}

// volumes returns the paths at which volumes may be staged or published.
func (k kubelet) volumes() ([]string, error) {
	if k.files == nil {
		return nil, nil
	}
	var all []string
	for _, pattern := range places {
		found, err := fs.Glob(k.files, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			all = append(all, k.path+`\`+strings.ReplaceAll(name, "/", `\`))
		}
	}
	return all, nil
}

// remote returns the remote path that a link leads to, directly or through kubelet's directory, without a backslash at the
// end; "" if it is no such link.
func (k kubelet) remote(path string, through bool) string {
	files, ok := k.files.(fs.ReadLinkFS)
	for links := 0; ok && links < 8; links++ {
		if len(path) <= len(k.path) || !strings.EqualFold(path[:len(k.path)+1], k.path+`\`) {
			return ""
		}
		target, err := files.ReadLink(strings.ReplaceAll(path[len(k.path)+1:], `\`, "/"))
		if err != nil {
			return ""
		}
		if rest, ok := strings.CutPrefix(target, `\\?\UNC\`); ok {
			target = `\\` + rest
		}
		target = strings.TrimRight(target, `\`)
		if (use{Remote: target}).share() != "" && !strings.HasPrefix(target, `\\?\`) {
			return target
		}
		if !through {
			return ""
		}
		path = target
	}
	return ""
}

// GetMountRefs returns the path itself if it exists and, of a mounter that sees kubelet's directory, the other paths in it
// at which the same volume or the same directory of a share is staged or published.
func (m *Mounter) GetMountRefs(path string) ([]string, error) {
	ctx, at := context.Background(), windowsPath(path)
	exists, err := m.exists(ctx, at)
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
	remote := m.kubelet.remote(at, true)
	for _, other := range all {
		if strings.EqualFold(other, at) {
			continue
		}
		same := remote != "" && strings.EqualFold(m.kubelet.remote(other, true), remote)
		if there.volume != "" {
			otherThere, err := m.at(ctx, other)
			if err != nil {
				return refs, err
			}
			same = otherThere.volume == there.volume
		}
		if same {
			refs = append(refs, other)
		}
	}
	return refs, nil
}
