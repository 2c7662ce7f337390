// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// LockDir locks the state directory for this process until the file is closed or the process dies. The file holds the
// process's number.
func LockDir(dir string) (*os.File, error) {
	f, err := plainfile.Create(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(f)
	if err != nil || held {
		defer f.Close()
		if err != nil {
			return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		text := make([]byte, 32)
		n, _ := f.ReadAt(text, 0) // without the number the error is still right
		return nil, fmt.Errorf("state directory %s is in use by process %s", dir,
			cmp.Or(strings.TrimSpace(string(text[:n])), "?"))
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}
