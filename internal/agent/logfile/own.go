// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// openOwn opens or makes a file for appending, and for reading its last byte. Callers influence what SYSTEM writes
// there: no account may divert it to another file, by a link or a second name.
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
