// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"

	"golang.org/x/sys/unix"
)

// pidfd is a process file descriptor. It becomes readable when the process ends (pidfd_open(2)).
type pidfd int

// hold holds the process that opened the other end of a unix socket. Since 6.5, Linux remembers the process itself;
// before, only its number, and another process is held if the first one ended before its connection was accepted. A
// process that has ended and been waited for gets no descriptor (EINVAL) until 6.15, and one that says so since.
//
// https://git.kernel.org/torvalds/c/923ea4d4482b, https://github.com/bus1/dbus-broker/pull/312
func hold(socket int, pid uint32) Process {
	fd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if errors.Is(err, unix.ENOPROTOOPT) {
		fd, err = unix.PidfdOpen(int(pid), 0)
	}
	switch {
	case err == nil:
		return pidfd(fd)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ESRCH):
		return ended{}
	default:
		return nil
	}
}

func (p pidfd) Ended() bool {
	look := []unix.PollFd{{Fd: int32(p), Events: unix.POLLIN}}
	n, err := unix.Poll(look, 0)
	return n > 0 && err == nil
}

func (p pidfd) Close() error { return unix.Close(int(p)) }
