// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// openOwn opens a file for appending, or makes it. Callers influence what SYSTEM writes there, so an account that may
// write to the directory must not divert it to another file, by a link or a second name. The last byte is read through
// the same handle.
func openOwn(path string) (*os.File, fs.FileInfo, error) {
	file, err := plainfile.Create(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640) // the group may read it
	if err != nil {
		return nil, nil, err
	}
	names, err := plainfile.Names(file)
	if err == nil {
		err = checkNames(path, names)
	}
	info, errStat := file.Stat()
	if err = errors.Join(err, errStat); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// checkNames refuses a file that does not have exactly one name.
func checkNames(path string, names uint64) error {
	if names == 1 {
		return nil
	}
	return fmt.Errorf("%s is refused: the file has %d names (hard links), and the log would appear under all of them; "+
		"remove this one or give another path", path, names)
}
