// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// A volume is formatted whose files lie deep.
func TestFormatOfADeepTree(t *testing.T) {
	n := newNode(t, nil)
	v := mounted(t, n, `C:\m`)
	top := hostPath(t, n, `C:\m\`)
	at, err := os.OpenRoot(top)
	must(t, err)
	for range 500 {
		for i := range 3 {
			must(t, at.WriteFile(fmt.Sprint("file", i), nil, 0o600))
			must(t, at.Mkdir(fmt.Sprint("d", i), 0o700))
		}
		below, err := at.OpenRoot("d1")
		must(t, errors.Join(err, at.Close()))
		at = below
	}
	must(t, at.Close())

	if _, _, err := n.DiskFreeSpace(v); err != nil {
		t.Errorf("asking for its space: %v", err)
	}
	must(t, n.FormatVolume(v, "NTFS"))
	if left, err := filepath.Glob(filepath.Join(n.dir, bundle.DisksDir, "*", bundle.VolumesDir, hostfiles.DroppedPrefix+"*")); len(left) > 0 || err != nil {
		t.Errorf("left: %q, %v", left, err)
	}
	if left, err := os.ReadDir(top); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v, %v", left, err)
	}
}
