// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	native "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// MakeDirectory makes a directory and its missing parents until the test ends, when it removes the directory with all
// that is in it, and those parents in which there is nothing else. Directories that exist stay. Only administrators may
// change what it makes: by default all users may put a link below C:\.
func MakeDirectory(t testing.TB, path string) error {
	t.Helper()
	var missing []string // the innermost first
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return err
		}
		missing = append(missing, at)
	}
	if len(missing) == 0 {
		return nil
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		removed(t, "directory "+missing[0], removeTree(ctx, missing[0]))
		for _, parent := range missing[1:] {
			if err := os.Remove(parent); err != nil {
				break // by now it may be the kubelet's of a node
			}
		}
	})
	return fileowner.MakeDirectory(path)
}

// removeTree removes a directory with what is in it, as the agent does it: each directory is opened in the one before,
// no link is followed, and mount points are unmounted. A missing one is success.
func removeTree(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	n, err := node.New(native.New(), node.Config{WorkingDirs: []string{filepath.Dir(dir)}})
	if err != nil {
		return err
	}
	all := n.For(operation.Everything()).Filesystem
	if _, err := all.RmdirContents(ctx, &filesystemapi.RmdirContentsRequest{Path: dir}); err != nil {
		return err
	}
	return os.Remove(dir)
}
