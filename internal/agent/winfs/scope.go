// SPDX-License-Identifier: Apache-2.0

package winfs

import "github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"

// checkDirs returns the working directory that a path lies in and the components below it.
func (fs *FS) checkDirs(path winpath.Path) (root winpath.Path, rest []string, err error) {
	if root, rest, err = fs.policy.dirs.Check(path); err != nil {
		return root, rest, outside(err)
	}
	return root, rest, fs.scope.Path(path)
}

// checkServer returns the refusal of a file server that a link leads to.
func (fs *FS) checkServer(name string) error { return fs.scope.Server(name) }
