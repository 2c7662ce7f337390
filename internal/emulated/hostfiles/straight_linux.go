// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenStraight opens the directory at the end of a path in one call of the host. It returns nil if that does not go: a
// name is missing, spelled in another way or a link, or the host has no such call. The names that it returns are the
// host's.
// https://man7.org/linux/man-pages/man2/openat2.2.html
func OpenStraight(from *os.File, names []string) (dir *os.Root, host []string) {
	for _, name := range names {
		if !IsFileName(name) || IsReserved(name) {
			return nil, nil
		}
		host = append(host, HostName(name))
	}
	fd, err := unix.Openat2(int(from.Fd()), path.Join(host...), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, nil
	}
	defer func() { _ = unix.Close(fd) }()
	if dir, err = os.OpenRoot("/proc/self/fd/" + strconv.Itoa(fd)); err != nil {
		return nil, nil
	}
	if err = CheckNotLink(dir); err != nil { // above it is none of the node's: they are empty directories
		_ = dir.Close() // a directory handle holds no data
		return nil, nil
	}
	return dir, host
}
