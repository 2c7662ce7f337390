// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockDir locks the state directory for this process until the file is closed or the process dies. The file holds the
// process's number until its end, if it is clean: then everything is durable.
func lockDir(dir string) (lock *os.File, clean bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|notThroughALink, 0o600)
	if err != nil {
		return nil, false, err
	}
	held, err := lockFile(f)
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0) // without the number the error is still right
	if err != nil || held {
		defer f.Close()
		if err != nil {
			return nil, false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
		return nil, false, &InUseError{Dir: dir, PID: pid}
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, n == 0, nil
}

// endClean notes that the node ends with everything durable.
func endClean(lock *os.File) error { return lock.Truncate(0) }
